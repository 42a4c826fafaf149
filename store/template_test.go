package store

import (
	"bytes"
	"sync"
	"testing"

	"github.com/flyball-io/flyball/internal/pack"
)

// The writer replaces the body of a template while readers unpack with it. Readers must not treat
// the template's own bytes as reusable memory.
func TestTemplateMayBeReplacedDuringAnUnpack(t *testing.T) {
	text := func(what string) []byte {
		return bytes.Repeat([]byte("some text that templates share, "+what+"; "), 30)
	}
	shape, own, object := text("shape"), append(text("shape"), "own"...), append(text("shape"), "object"...)
	parent := newTemplate(body{bytes: shape, size: len(shape)}, 1, &digest{})
	var p pack.Packer
	packed := body{bytes: p.Append(nil, pack.NewTemplate(shape), nil, own), size: len(own), parent: parent}
	if !pack.UsesTemplate(packed.bytes) {
		t.Fatal("the template is not packed")
	}
	record := p.Append(nil, pack.NewTemplate(own), nil, object)
	if !pack.UsesTemplate(record) {
		t.Fatal("the object is not packed")
	}
	tmpl := newTemplate(packed, 2, &digest{})

	plain, other := bytes.Clone(own), bytes.Repeat([]byte{0xdb}, len(own)/2)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 50_000 {
				if got, err := tmpl.unpack(nil, &meta{object: record}); err != nil || !bytes.Equal(got, object) {
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

// The cache of indexes keeps the templates used last, up to its limit.
func TestIndexCacheIsBounded(t *testing.T) {
	var c indexCache
	var all []*template
	for i := range 1000 {
		b := bytes.Repeat([]byte{byte(i)}, 3000)
		all = append(all, newTemplate(body{bytes: b, size: len(b)}, uint64(i), &digest{}))
		c.get(all[i])
		if first := c.get(all[0]); first != c.get(all[0]) {
			t.Fatal("the template in use was dropped")
		}
		if c.bytes > maxCachedBytes || len(c.of) != c.order.Len() {
			t.Fatalf("%d bytes of %d templates", c.bytes, c.order.Len())
		}
	}
	if c.of[all[0]] == nil || c.of[all[1]] != nil || c.of[all[999]] == nil {
		t.Error("the wrong templates were dropped")
	}
	for _, one := range all {
		c.drop(one)
	}
	if c.bytes != 0 || len(c.of) != 0 || c.order.Len() != 0 {
		t.Errorf("%d bytes of %d templates, and all were dropped", c.bytes, c.order.Len())
	}
}
