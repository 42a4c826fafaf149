package store

import (
	"iter"
	"slices"

	"github.com/flyball-io/flyball/internal/cow"
	"github.com/flyball-io/flyball/internal/heap"
)

// slotAnswer is the answer of an index about the record of a slot.
type slotAnswer struct {
	slot uint32
	id   heap.ID
	answer
}

// missingEntry is an entry that an index misses.
type missingEntry struct {
	slotAnswer
	entry *Entry
}

// addIndex adds an index that misses every object.
func (c *core) addIndex(d *definition) error {
	switch {
	case !d.valid():
		return ErrBadIndex
	case c.published.index(d.name) != nil:
		return &IndexExistsError{Resource: c.opts.Resource, Index: d.name}
	}
	d.pending = newPendingIndex()
	s := c.published.fork()
	s.addIndex(new(cow.Owner), d)
	c.publish(s, c.published.synced)
	if w := c.txn; w != nil {
		w.addIndex(w.owner, d)
	}
	return nil
}

func (s *state) addIndex(o *cow.Owner, d *definition) {
	x := index{definition: d, found: newTable(postingBefore), pending: d.pending}
	for slot := range s.keys.All() {
		if s.rejected.Get(slot) == nil {
			x.markMissing(o, slot, d.pending)
		}
	}
	s.indexes = append(slices.Clip(s.indexes), x)
}

// caughtUp reports whether an index misses nothing, or was removed. In that case it clears d.pending:
// others may ask the index from then on.
func (c *core) caughtUp(d *definition) bool {
	for s := range c.states() {
		if x := s.indexOf(d); x != nil && x.missed > 0 {
			return false
		}
	}
	d.pending = nil
	return true
}

// indexOf returns the index of a definition; nil if it was removed.
func (s *state) indexOf(d *definition) *index {
	if x := s.index(d.name); x != nil && x.definition == d {
		return x
	}
	return nil
}

// missing yields the entries that an index misses.
func (s *state) missing(d *definition) iter.Seq[missingEntry] {
	return func(yield func(missingEntry) bool) {
		x := s.indexOf(d)
		if x == nil || x.missed == 0 {
			return
		}
		for slot := range x.missing.All() {
			if !yield(missingEntry{slotAnswer{slot: slot, id: s.chunks.ID(s.records.Get(slot))}, s.load(slot, nil)}) {
				return
			}
		}
	}
}

// states yields the states that have indexes: the published one, and the open transaction.
func (c *core) states() iter.Seq[*state] {
	return func(yield func(*state) bool) {
		if yield(&c.published.state) && c.txn != nil {
			yield(&c.txn.state)
		}
	}
}

// fill stores the answers of an index about records that still exist. It rejects the objects on
// which the index failed, and reports whether there are any.
func (c *core) fill(d *definition, all []slotAnswer) (any bool) {
	if len(all) == 0 {
		return false
	}
	s := c.published.fork()
	s.fill(new(cow.Owner), d, all, func(e, is *Entry) {
		c.rejections = append(c.rejections, Change{Key: e.key, Old: e, New: is})
		any = true
	})
	if any {
		c.publish(s, c.published.synced)
	} else {
		c.replace(s)
	}
	if w := c.txn; w != nil {
		w.fill(w.owner, d, all, func(_, _ *Entry) { w.dirty = true })
	}
	return any
}

// fill calls replaced for each object that it rejects.
func (s *state) fill(o *cow.Owner, d *definition, all []slotAnswer, replaced func(e, is *Entry)) {
	x := s.indexOf(d)
	if x == nil {
		return
	}
	for _, l := range all {
		switch {
		case !x.missing.Get(l.slot) || s.chunks.ID(s.records.Get(l.slot)) != l.id:
		case l.err != nil:
			s.reject(o, l.slot, l.err, replaced)
		default:
			x.set(s, o, l.slot, l.values)
		}
	}
}

// reject replaces the entry of a slot by a rejected one.
func (s *state) reject(o *cow.Owner, slot uint32, cause error, replaced func(e, is *Entry)) {
	e := s.load(slot, nil)
	h, _ := e.metadata()
	is := Rejected(h, cause)
	for i := range s.indexes {
		s.indexes[i].set(s, o, slot, nil)
	}
	s.rejected.Set(o, slot, is)
	s.unindexed.Insert(o, slot, s.probe(s.key(nil, slot)))
	s.bytes -= e.record.size()
	replaced(e, is)
}

// RemoveIndex is Store.RemoveIndex.
func (c *core) RemoveIndex(name string) error {
	s := c.published.fork()
	if !s.removeIndex(name) {
		return &UnknownIndexError{Resource: c.opts.Resource, Index: name}
	}
	c.publish(s, c.published.synced)
	if c.txn != nil {
		c.txn.removeIndex(name)
	}
	return nil
}
