package store

import (
	"bytes"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/flyball-io/flyball/pack"
)

// The writer exchanges the form of a template while readers unpack with it. They must not take the
// template's own bytes for memory that may be used again.
func TestTemplateChangesItsFormWhileItIsRead(t *testing.T) {
	text := func(what string) []byte {
		return bytes.Repeat([]byte("some text that templates share, "+what+"; "), 30)
	}
	shape, own, object := text("shape"), append(text("shape"), "own"...), append(text("shape"), "object"...)
	parent := newTemplate(body{bytes: shape, size: len(shape)}, 1)
	var p pack.Packer
	packed := body{bytes: p.Append(nil, pack.NewTemplate(shape), own), size: len(own), parent: parent}
	if !pack.UsesTemplate(packed.bytes) {
		t.Fatal("the template is not packed")
	}
	record := p.Append(nil, pack.NewTemplate(own), object)
	if !pack.UsesTemplate(record) {
		t.Fatal("the object is not packed")
	}
	tmpl := newTemplate(packed, 2)

	plain, other := bytes.Clone(own), bytes.Repeat([]byte{0xdb}, len(own)/2)
	var readers sync.WaitGroup
	var left atomic.Int32
	for range 4 {
		left.Add(1)
		readers.Go(func() {
			defer left.Add(-1)
			for range 50_000 {
				if got, err := tmpl.unpack(nil, record); err != nil || !bytes.Equal(got, object) {
					t.Errorf("read %d bytes, %v", len(got), err)
					return
				}
				// Somebody else reads another object.
				_ = borrow(func(b []byte) ([]byte, error) { return append(b, other...), nil })
			}
		})
	}
	for left.Load() > 0 {
		tmpl.body.Store(&body{bytes: plain, size: len(plain)})
		again := packed
		tmpl.body.Store(&again)
	}
	readers.Wait()
	if !bytes.Equal(plain, own) {
		t.Error("the template was overwritten")
	}
}
