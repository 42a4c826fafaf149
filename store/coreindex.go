package store

import (
	"slices"

	"github.com/flyball-io/flyball/internal/cow"
	"github.com/flyball-io/flyball/internal/heap"
)

// learned is what an index said about the record of a slot.
type learned struct {
	slot uint32
	id   heap.ID
	answer
}

// AddIndex is Store.AddIndex.
func (c *Core) AddIndex(name string, by Indexer) error {
	d := newDefinition(name, by)
	if err := c.addIndex(d); err != nil {
		return err
	}
	for !c.whole(d) {
		c.fill(d, c.published.ask(d, mostAsked, d.ask))
		if c.work != nil {
			c.fill(d, c.work.ask(d, mostAsked, d.ask))
		}
	}
	return nil
}

// addIndex adds an index that misses all there is.
func (c *Core) addIndex(d *definition) error {
	switch {
	case !d.valid():
		return ErrBadIndex
	case c.published.index(d.name) != nil:
		return &IndexExistsError{Resource: c.opts.Resource, Index: d.name}
	}
	d.late = newPending()
	s := c.published.fork()
	s.addIndex(new(cow.Owner), d)
	c.publish(s, c.published.synced)
	if w := c.work; w != nil {
		w.addIndex(w.owner, d)
	}
	return nil
}

func (s *state) addIndex(o *cow.Owner, d *definition) {
	x := index{definition: d, found: newTable(postingBefore), pending: d.late}
	for slot := range s.keys.All() {
		if s.asides.Get(slot) == nil {
			x.miss(o, slot, d.late)
		}
	}
	s.indexes = append(slices.Clip(s.indexes), x)
}

// whole reports whether an index misses nothing, or is removed. Then others may ask it again.
func (c *Core) whole(d *definition) bool {
	missing := func(s *state) bool {
		x := s.of(d)
		return x != nil && x.missed > 0
	}
	if missing(&c.published.state) || c.work != nil && missing(&c.work.state) {
		return false
	}
	d.late = nil
	return true
}

// of is the index of a definition; nil if it was removed.
func (s *state) of(d *definition) *index {
	if x := s.index(d.name); x != nil && x.definition == d {
		return x
	}
	return nil
}

// mostAsked is how many records an index is asked about before what it said is filled in.
const mostAsked = 4096

// ask asks an index about up to n records that it misses.
func (s *state) ask(d *definition, n int, ask func(*Entry) answer) []learned {
	x := s.of(d)
	if x == nil || x.missed == 0 {
		return nil
	}
	all := make([]learned, 0, min(n, x.missed))
	for slot := range x.missing.All() {
		if len(all) == n {
			break
		}
		all = append(all, learned{slot, s.chunks.ID(s.records.Get(slot)), ask(s.load(slot, nil))})
	}
	return all
}

// fill takes over what an index said about records that are still there. Objects on which it failed are
// set aside; it reports whether there are any.
func (c *Core) fill(d *definition, all []learned) (aside bool) {
	if len(all) == 0 {
		return false
	}
	s := c.published.fork()
	s.fill(new(cow.Owner), d, all, func(e, is *Entry) {
		c.asides = append(c.asides, Change{Key: e.key, Old: e, New: is})
		aside = true
	})
	if aside {
		c.publish(s, c.published.synced)
	} else {
		c.replace(s)
	}
	if w := c.work; w != nil {
		w.fill(w.owner, d, all, func(_, _ *Entry) { w.dirty = true })
	}
	return aside
}

// fill calls replaced for each object that is set aside.
func (s *state) fill(o *cow.Owner, d *definition, all []learned, replaced func(e, is *Entry)) {
	x := s.of(d)
	if x == nil {
		return
	}
	for _, l := range all {
		switch {
		case !x.missing.Get(l.slot) || s.chunks.ID(s.records.Get(l.slot)) != l.id:
		case l.err != nil:
			s.setAside(o, l.slot, l.err, replaced)
		default:
			x.set(s, o, l.slot, l.values)
		}
	}
}

// setAside has an entry stand for the object of a slot that cannot be used.
func (s *state) setAside(o *cow.Owner, slot uint32, cause error, replaced func(e, is *Entry)) {
	e := s.load(slot, nil)
	is := SetAside(e.metadata(), cause)
	for i := range s.indexes {
		s.indexes[i].set(s, o, slot, nil)
	}
	s.asides.Set(o, slot, is)
	s.aside++
	s.bytes -= e.record.size()
	replaced(e, is)
}

// RemoveIndex is Store.RemoveIndex.
func (c *Core) RemoveIndex(name string) error {
	s := c.published.fork()
	if !s.removeIndex(name) {
		return &UnknownIndexError{Resource: c.opts.Resource, Index: name}
	}
	c.publish(s, c.published.synced)
	if c.work != nil {
		c.work.removeIndex(name)
	}
	return nil
}
