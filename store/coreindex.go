package store

import (
	"github.com/flyball-io/flyball/internal/cow"
	"github.com/flyball-io/flyball/internal/heap"
)

// prepared is what an index function said about records before the index was added. One that was moved
// meanwhile is asked about once more.
type prepared map[heap.ID]answer

type answer struct {
	values []string
	err    error
}

// ask asks the index about the record of a slot, once.
func (p prepared) ask(d *definition, s *state, slot uint32, load func(uint32) *Entry) answer {
	if s.asides.Get(slot) != nil {
		return answer{}
	}
	id := s.chunks.ID(s.records.Get(slot))
	a, ok := p[id]
	if !ok {
		a.values, a.err = d.values(load(slot))
		p[id] = a
	}
	return a
}

// AddIndex is Store.AddIndex.
func (c *Core) AddIndex(name string, by Indexer) error {
	return c.addIndex(newDefinition(name, by), prepared{})
}

func (c *Core) checkIndex(d *definition) error {
	if !d.valid() {
		return ErrBadIndex
	}
	if c.published.index(d.name) != nil {
		return &IndexExistsError{Resource: c.opts.Resource, Index: d.name}
	}
	return nil
}

func (c *Core) addIndex(d *definition, p prepared) error {
	if err := c.checkIndex(d); err != nil {
		return err
	}
	s, o := c.published.fork(), new(cow.Owner)
	s.addIndex(o, d, p, func(e, aside *Entry) {
		c.asides = append(c.asides, Change{Key: e.key, Old: e, New: aside})
	})
	c.publish(s, c.published.synced)
	if w := c.work; w != nil {
		w.addIndex(w.owner, d, p, func(*Entry, *Entry) { w.dirty = true })
	}
	return nil
}

// addIndex builds an index over what is there. replaced is called for each object that is set aside
// by it.
func (s *state) addIndex(o *cow.Owner, d *definition, p prepared, replaced func(e, aside *Entry)) {
	s.indexes = append(s.indexes, index{definition: d, found: newTable(postingBefore)})
	var failed []uint32
	load := func(slot uint32) *Entry { return s.load(slot, nil) }
	for slot := range s.keys.All() {
		a := p.ask(d, s, slot, load)
		if a.err != nil {
			failed = append(failed, slot)
			continue
		}
		s.indexes[len(s.indexes)-1].set(s, o, slot, a.values)
	}
	for _, slot := range failed {
		e := s.load(slot, nil)
		aside := SetAside(e.metadata(), p.ask(d, s, slot, load).err)
		for i := range s.indexes {
			s.indexes[i].set(s, o, slot, nil)
		}
		s.asides.Set(o, slot, aside)
		s.aside++
		s.bytes -= e.record.size()
		replaced(e, aside)
	}
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
