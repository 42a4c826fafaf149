package store

import (
	"bytes"
	"sync"
	"testing"

	"github.com/flyball-io/flyball/pack"
)

// The writer replaces the body of a template while readers unpack with it. Readers must not treat
// the template's own bytes as reusable memory.
func TestTemplateMayBeReplacedDuringAnUnpack(t *testing.T) {
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
	for range 4 {
		readers.Go(func() {
			for range 50_000 {
				if got, err := tmpl.unpack(nil, record); err != nil || !bytes.Equal(got, object) {
					t.Errorf("read %d bytes, %v", len(got), err)
					return
				}
				// Another reader reads another object.
				_ = borrow(func(b []byte) ([]byte, error) { return append(b, other...), nil })
			}
		})
	}
	ended := make(chan struct{})
	go func() { readers.Wait(); close(ended) }()
	unpacked := body{bytes: plain, size: len(plain)}
	for reading := true; reading; {
		tmpl.body.Store(&unpacked)
		tmpl.body.Store(&packed)
		select {
		case <-ended:
			reading = false
		default:
		}
	}
	if !bytes.Equal(plain, own) {
		t.Error("the template was overwritten")
	}
}
