package store

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/flyball-io/flyball/internal/pack"
	"github.com/flyball-io/flyball/internal/wire"
)

// The writer replaces the body of a template while readers unpack with it. Readers must not treat
// the template's own bytes as reusable memory.
func TestTemplateMayBeReplacedDuringAnUnpack(t *testing.T) {
	text := func(what string) []byte {
		return bytes.Repeat([]byte("some text that templates share, "+what+"; "), 30)
	}
	shape, own, object := text("shape"), append(text("shape"), "own"...), append(text("shape"), "object"...)
	parent := newTemplate(body{bytes: shape}, 1, &digest{})
	var p pack.Packer
	packed := body{bytes: p.Append(nil, pack.NewTemplate(shape), nil, own), parent: parent}
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
			for range short(2_000, 50_000) {
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
	unpacked := body{bytes: plain}
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
		all = append(all, newTemplate(body{bytes: b}, uint64(i), &digest{}))
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

// The first object of a controller makes the template of its group. Other groups need two objects,
// and an object that changes is no second one.
func TestTemplatesOfGroups(t *testing.T) {
	text := func(what string, i int) string {
		return fmt.Sprintf(`,"spec":{"%s":"something that is long enough to be shared","n":%d}`, what, i)
	}
	put := func(s *Store, name string, version int, more, rest string) {
		t.Helper()
		e, err := NewEntry(wire.Raw{Kind: &wire.Kind{}, Encoding: wire.JSON, Bytes: fmt.Appendf(nil,
			`{"metadata":{"name":%q,"uid":"u-%s","resourceVersion":"%d"%s}%s}`, name, name, version, more, rest)})
		if err != nil {
			t.Fatal(err)
		}
		txn := s.Begin()
		txn.Put(e)
		txn.Commit()
	}
	const owned = `,"ownerReferences":[{"kind":"X","name":"o","uid":"u-o","controller":true}]` // the shape has a template, too
	for _, c := range []struct {
		name, more string
		want       [3]int // templates after one object, after a change of it, and after a second one
	}{
		{"of a controller", owned, [3]int{1, 1, 3}},
		{"of equal labels", `,"labels":{"app":"web"}`, [3]int{0, 0, 2}},
		{"single", "", [3]int{0, 0, 1}},
	} {
		s := New(Checked(Options{}))
		var got [3]int
		put(s, "a", 1, c.more, text("first", 1))
		got[0] = s.Stats().Templates
		put(s, "a", 2, c.more, text("first", 2))
		got[1] = s.Stats().Templates
		put(s, "b", 3, c.more, text("first", 3))
		put(s, "c", 4, strings.ReplaceAll(c.more, "u-o", "u-p"), text("first", 3))
		got[2] = s.Stats().Templates
		if got != c.want {
			t.Errorf("%s: %v templates, want %v", c.name, got, c.want)
		}
		for _, name := range []string{"a", "b", "c"} {
			commit(s, "x"+name)
		}
		if n := s.Stats().Templates; n != 0 || len(s.core.packing.groups) != 0 {
			t.Errorf("%s: %d templates of %d groups, and no objects", c.name, n, len(s.core.packing.groups))
		}
	}
}

// Sightings forget, but they take no object for another one and do not grow for ever.
func TestSecondObjectOfAGroupIsNoticed(t *testing.T) {
	var s sightings
	const odd = 0x9e3779b97f4a7c15
	for i := range uint64(100_000) {
		group := (i + 1) * odd
		for range 2 { // the same object a second time is not another one
			if s.other(group, 1<<40, maxSightings) {
				t.Fatalf("another object of group %d", i)
			}
		}
		if !s.other(group, 2<<40, maxSightings) {
			t.Fatalf("the second object of group %d was not noticed", i)
		}
	}
	if len(s.table) != maxSightings {
		t.Errorf("%d entries", len(s.table))
	}
}
