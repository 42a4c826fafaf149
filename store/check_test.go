package store

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/internal/heap"
)

// Checked returns the options of a store that compares every record with its source.
func Checked(o Options) Options {
	o.check = &check{map[string]*copied{}}
	return o
}

// check keeps a copy of every packed object, by its packed bytes, and compares.
type check struct{ copies map[string]*copied }

type copied struct {
	raw   []byte // nil: rejected
	times int    // number of records with these bytes
}

// put keeps the source of the record b, and compares it with the entry.
func (c *check) put(b, raw []byte, e *Entry) {
	was := c.copies[string(b)]
	if was == nil {
		was = &copied{raw: bytes.Clone(raw)}
		c.copies[string(b)] = was
	}
	was.times++
	if e.rejected == nil {
		was.compare(e)
	}
}

// drop removes the copy of a record that no later state uses.
func (c *check) drop(chunks heap.Chunks, p heap.Place) {
	chunks.Read(p, func(b []byte) {
		was := c.copies[string(b)]
		if was == nil {
			panic(fmt.Sprintf("store: the record at %d has changed, or is dropped twice", p))
		}
		if was.times--; was.times == 0 {
			delete(c.copies, string(b))
		}
	})
}

// compare panics if a stored entry differs from its source.
func (was *copied) compare(e *Entry) {
	m := e.meta()
	got, err := e.unpack(nil, &m)
	if err != nil || !bytes.Equal(got, was.raw) {
		panic(fmt.Sprintf("store: %s differs from its source: %v\n%q\n%q", e.key, err, got, was.raw))
	}
	h, err := e.Compact().Raw().Header()
	if err != nil || h.Key != e.key || h.UID != e.UID() || h.ResourceVersion != e.ResourceVersion() || h.Generation != e.Generation() {
		panic(fmt.Sprintf("store: the header of %s differs from its source: %v %+v", e.key, err, h))
	}
	c := e.Compact()
	if !maps.Equal(c.Labels(), h.Labels) || !c.Selected(labels.SelectorFromSet(h.Labels)) || c.Selected(unknownLabel) {
		panic(fmt.Sprintf("store: the labels of %s are %v, those of its source %v", e.key, c.Labels(), h.Labels))
	}
	for k, v := range h.Labels {
		if got, ok := c.Label(k); !ok || got != v {
			panic(fmt.Sprintf("store: label %s of %s is %q, %v, that of its source %q", k, e.key, got, ok, v))
		}
	}
	if got := slices.Collect(c.Owners()); !slices.Equal(got, h.Owners) {
		panic(fmt.Sprintf("store: the owners of %s are %v, those of its source %v", e.key, got, h.Owners))
	}
	if got := e.Compact().Header(); !maps.Equal(got.Labels, h.Labels) || !slices.Equal(got.Owners, h.Owners) {
		panic(fmt.Sprintf("store: the header of %s is %+v, that of its source %+v", e.key, got, h))
	}
}

var unknownLabel = labels.SelectorFromSet(labels.Set{"no such label": ""})

// all compares the published records with their sources: all of a small store, or some twenty. Over
// the commits of a test every record is likely to be compared.
func (c *check) all(core *core) {
	s := core.published
	rate := float64(20) / float64(s.Len()+1)
	n := 0
	var rejected []uint32
	for slot := range s.keys.All() {
		n++
		if s.rejected.Get(slot) != nil {
			rejected = append(rejected, slot)
		}
		if rand.Float64() > rate {
			continue
		}
		var was *copied
		s.chunks.Read(s.records.Get(slot), func(b []byte) { was = c.copies[string(b)] })
		if was == nil {
			panic(fmt.Sprintf("store: the record of slot %d has changed", slot))
		}
		if e := s.load(slot, nil); e.rejected == nil {
			was.compare(e)
		}
	}
	if all := slices.Collect(s.unindexed.All()); !slices.Equal(all, rejected) {
		panic(fmt.Sprintf("store: %d slots are rejected, and %d are listed as that", rejected, all))
	}
	if n != s.Len() {
		panic(fmt.Sprintf("store: %d keys, %d counted", n, s.Len()))
	}
}

// HasIndex reports whether there is an index of that name. It may be pending.
func HasIndex(s *Snapshot, name string) bool { return s.index(name) != nil }
