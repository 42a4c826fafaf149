package store

import (
	"github.com/flyball-io/flyball/internal/cow"
	"github.com/flyball-io/flyball/internal/heap"
	"github.com/flyball-io/flyball/pack"
)

// An object keeps its slot for as long as it is there. So when most objects have gone, those that are
// left stand far apart: a leaf of a table is kept for one of them, and a page of memory for one leaf.
// Condense gives them other slots, side by side, in tables made for so many.

// fewSlots are never worth it.
const fewSlots = 512

// Condense makes the tables of a store smaller of whose objects most have gone, and reports whether it
// did. The tables are made beside those in use, so nobody waits for it; if something is written meanwhile
// they are thrown away. Call it when nothing has been written for a while.
func (s *Store) Condense() bool {
	pin := s.core.heap.Pin() // keys are looked at
	was, slots := s.sparse()
	if was == nil {
		pin.Release()
		return false
	}
	is := was.condensed(slots)
	pin.Release()
	return s.exchange(was, is)
}

// Sparse reports whether there is something to do for Condense.
func (s *Store) Sparse() bool {
	was, _ := s.sparse()
	return was != nil
}

// sparse is the last state and how many slots it has, if those are many more than its objects.
func (s *Store) sparse() (was *Snapshot, slots uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.core
	if c.work != nil || int(c.slots) <= 2*c.published.Len()+fewSlots {
		return nil, 0
	}
	return c.published, c.slots
}

// exchange publishes a state that has the content of the one before, if that is still the last when
// nobody writes.
func (s *Store) exchange(was *Snapshot, is state) bool {
	s.writer.Lock()
	defer s.writer.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.core
	if c.published != was {
		return false
	}
	c.packing.condense()
	c.slots, c.free = uint32(is.keys.Len()), nil
	c.publish(is, was.synced)
	s.publish()
	return true
}

// renamed are slots by what they were before. Where no object was it says nothing.
type renamed []uint32

// condensed is the same content in the first slots, in the order of keys; slots is how many there were.
// Whoever calls it has a Pin.
func (s *state) condensed(slots uint32) state {
	o, names, n := new(cow.Owner), make(renamed, slots), uint32(0)
	is := s.fork()
	is.keys, is.records, is.asides, is.guesses = cow.Tree{}, cow.Table[heap.Ref]{}, cow.Table[*Entry]{}, newGuesses()
	for was := range s.keys.All() {
		is.keys.Append(o, n)
		is.records.Set(o, n, s.records.Get(was))
		is.asides.Set(o, n, s.asides.Get(was))
		names[was] = n
		n++
	}
	is.learn()
	for i := range is.indexes {
		is.indexes[i] = s.indexes[i].condensed(o, names)
	}
	return is
}

// condensed is the same index of slots that are named anew.
func (x *index) condensed(o *cow.Owner, names renamed) index {
	is := index{definition: x.definition, found: newTable(postingBefore)}
	for was, t := range x.terms.All() {
		is.terms.Set(o, names[was], t)
	}
	it := x.found.tree.Iter()
	for ok := it.First(); ok; ok = it.Next() {
		p := it.Item()
		was := p.slots
		p.slots = cow.Tree{}
		for slot := range was.All() {
			p.slots.Append(o, names[slot])
		}
		is.found.tree.Load(p)
	}
	return is
}

// condense forgets the groups of those who stayed alone: they name a slot.
func (p *packing) condense() {
	groups := map[uint64]group{}
	for key, g := range p.groups {
		if g.template != nil {
			groups[key] = g
		}
	}
	p.groups = groups
}

// Rest lets go of what makes writing faster, up to a megabyte: it is made again when something is
// written. Call it when nothing has been written for a while.
func (s *Store) Rest() {
	if !s.writer.TryLock() {
		return
	}
	defer s.writer.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.core.packing.rest()
	s.core.buf, s.core.packed = nil, nil
}

// rest forgets the indexes of templates, and the tables of the packer.
func (p *packing) rest() { p.packer, p.recent = pack.Packer{MaxIndex: mostIndex}, recents{} }
