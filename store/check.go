package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"github.com/flyball-io/flyball/internal/heap"
)

// check has a copy of all that was packed, and compares.
type check struct{ copies map[heap.Ref]copied }

type copied struct {
	raw    []byte // nil: it was set aside
	record record
}

func newCheck() *check { return &check{map[heap.Ref]copied{}} }

// put keeps what a record was made of, and compares it with what it says.
func (c *check) put(ref heap.Ref, raw []byte, e *Entry) {
	c.copies[ref] = copied{bytes.Clone(raw), bytes.Clone(e.record)}
	if e.aside == nil {
		c.compare(ref, e)
	}
}

func (c *check) drop(ref heap.Ref) { delete(c.copies, ref) }

// compare panics if a stored entry is not what came.
func (c *check) compare(ref heap.Ref, e *Entry) {
	was := c.copies[ref]
	got, err := e.unpack(nil, e.record.meta().object)
	if err != nil || !bytes.Equal(got, was.raw) {
		panic(fmt.Sprintf("store: %s is not what came: %v\n%q\n%q", e.key, err, got, was.raw))
	}
	if h, err := e.Compact().Raw().Header(); err != nil || h.Key != e.key || h.UID != e.UID() || h.ResourceVersion != e.ResourceVersion() || h.Generation != e.Generation() {
		panic(fmt.Sprintf("store: the header of %s is not what came: %v %+v", e.key, err, h))
	}
}

// all compares what is published with what came: all of it, or some hundred.
func (c *check) all(core *Core) {
	s := core.published
	rate := float64(200) / float64(s.Len()+1)
	n := 0
	for slot := range s.keys.All() {
		n++
		if rand.Float64() > rate {
			continue
		}
		ref := s.records.Get(slot)
		was, ok := c.copies[ref]
		_, _, r := s.stored(slot)
		if !ok || !bytes.Equal(r, was.record) {
			panic(fmt.Sprintf("store: the record of slot %d (%d) has changed", slot, ref))
		}
		if e := s.load(slot, nil); e.aside == nil {
			c.compare(ref, e)
		}
	}
	if n != s.Len() {
		panic(fmt.Sprintf("store: %d keys, %d counted", n, s.Len()))
	}
}
