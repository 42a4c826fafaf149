package store

import "github.com/flyball-io/flyball/internal/cow"

// Cond is a condition on indexes, made by Is, And and Or. It is immutable, belongs to no store and
// can be reused.
type Cond interface {
	// check returns the error of a missing or pending index.
	check(s *Snapshot) error
	// open starts a walk over the slots that meet the condition. check has passed.
	open(s *state) cursor
}

// Is is met by the objects that an index has under value. No index has a rejected object, so nobody knows whether it
// would be there: such an object meets it, and [Entry.Err] says what is wrong.
func Is(index, value string) Cond { return is{index, value} }

// And is met by the objects that meet every one of conds. With no conds every object meets it.
func And(conds ...Cond) Cond { return and(conds) }

// Or is met by the objects that meet at least one of conds. With no conds no object meets it.
func Or(conds ...Cond) Cond { return or(conds) }

type (
	is  struct{ index, value string }
	and []Cond
	or  []Cond
)

func (c is) check(s *Snapshot) error {
	_, err := s.readable(c.index)
	return err
}

func (c and) check(s *Snapshot) error { return checkAll(c, s) }
func (c or) check(s *Snapshot) error  { return checkAll(c, s) }

func checkAll(conds []Cond, s *Snapshot) error {
	for _, c := range conds {
		if c == nil {
			continue
		}
		if err := c.check(s); err != nil {
			return err
		}
	}
	return nil
}

func (c is) open(s *state) cursor {
	p, _ := s.index(c.index).found.tree.Get(posting{term: &term{value: c.value}})
	has := &found{s: s, slots: p.slots}
	if s.unindexed.Len() == 0 {
		return has
	}
	return &anyOf{s: s, of: []cursor{has, &found{s: s, slots: s.unindexed}}}
}

func (c and) open(s *state) cursor {
	if len(c) == 0 {
		return &found{s: s, slots: s.keys}
	}
	return &all{s: s, of: openAll(c, s)}
}

func (c or) open(s *state) cursor { return &anyOf{s: s, of: openAll(c, s)} }

func openAll(conds []Cond, s *state) []cursor {
	cursors := make([]cursor, len(conds))
	for i, c := range conds {
		if c == nil {
			c = And()
		}
		cursors[i] = c.open(s)
	}
	return cursors
}

// cursor walks over slots in the order of their keys.
type cursor interface {
	// seek returns the first slot whose key is at or behind from; only behind it if past is set. It
	// returns false if there is none. Successive calls must not move backwards.
	seek(from []byte, past bool) (slot uint32, ok bool)
}

// found walks over slots sorted by key: those of one index value, or all.
type found struct {
	s     *state
	slots cow.Tree
	it    cow.Iter
	on    bool // it points to a slot
	ended bool
}

func (c *found) seek(from []byte, past bool) (uint32, bool) {
	if !c.on && !c.ended {
		c.it = c.slots.Iter()
		c.move(c.it.Seek(c.s.probe(from)))
	} else if c.behind(from, past) {
		c.move(c.it.Next()) // often enough; otherwise seek
		if c.behind(from, past) {
			c.move(c.it.Seek(c.s.probe(from)))
		}
	}
	if c.behind(from, past) { // it is at from
		c.move(c.it.Next())
	}
	if c.ended {
		return 0, false
	}
	return c.it.ID(), true
}

// behind reports whether the iterator is before the requested key.
func (c *found) behind(from []byte, past bool) bool {
	if c.ended {
		return false
	}
	order := c.s.compare(c.it.ID(), from)
	return order < 0 || past && order == 0
}

func (c *found) move(ok bool) { c.on, c.ended = ok, !ok }

// all walks over the slots that every one of several cursors has. Each cursor seeks the key of the
// others, so the work is bounded by the smallest.
type all struct {
	s   *state
	of  []cursor
	key []byte // of the current slot
}

func (c *all) seek(from []byte, past bool) (uint32, bool) {
	slot, ok := c.of[0].seek(from, past)
	for agree := 1; ok && agree < len(c.of); {
		var next uint32
		c.key = c.s.key(c.key[:0], slot)
		next, ok = c.of[agree].seek(c.key, false)
		agree++
		if ok && next != slot {
			c.key = c.s.key(c.key[:0], next)
			slot, ok = c.of[0].seek(c.key, false)
			agree = 1
		}
	}
	return slot, ok
}

// anyOf walks over the slots that at least one of several cursors has, each once.
type anyOf struct {
	s   *state
	of  []cursor
	key []byte // of the first slot
}

func (c *anyOf) seek(from []byte, past bool) (first uint32, ok bool) {
	for _, each := range c.of {
		if slot, has := each.seek(from, past); has && (!ok || c.s.compare(slot, c.key) < 0) {
			first, ok = slot, true
			c.key = c.s.key(c.key[:0], slot)
		}
	}
	return first, ok
}
