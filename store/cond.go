package store

import (
	"github.com/tidwall/btree"

	"github.com/flyball-io/flyball/object"
)

// Cond is a condition on indexes, made by Is, And and Or. It is immutable, belongs to no store and
// can be used again.
type Cond interface {
	// check reports an index that s does not have.
	check(s *Snapshot) error
	// open starts a walk over the keys that meet the condition. check has passed.
	open(s *Snapshot) cursor
}

// Is is met by the objects that an index finds under value.
func Is(index, value string) Cond { return is{index, value} }

// And is met by the objects that meet every one of conds; by all objects if there is none.
func And(conds ...Cond) Cond { return and(conds) }

// Or is met by the objects that meet at least one of conds; by no object if there is none.
func Or(conds ...Cond) Cond { return or(conds) }

type (
	is  struct{ index, value string }
	and []Cond
	or  []Cond
)

func (c is) check(s *Snapshot) error {
	if !s.HasIndex(c.index) {
		return &UnknownIndexError{Resource: s.opts.Resource, Index: c.index}
	}
	return nil
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

func (c is) open(s *Snapshot) cursor {
	return &found{it: s.find(c.index).postings.tree.Iter(), value: c.value}
}

func (c and) open(s *Snapshot) cursor {
	if len(c) == 0 {
		return &everything{it: s.objects.tree.Iter()}
	}
	return all(openAll(c, s))
}

func (c or) open(s *Snapshot) cursor { return anyOf(openAll(c, s)) }

func openAll(conds []Cond, s *Snapshot) []cursor {
	cursors := make([]cursor, len(conds))
	for i, c := range conds {
		if c == nil {
			c = And()
		}
		cursors[i] = c.open(s)
	}
	return cursors
}

// cursor walks over keys in their order.
type cursor interface {
	// seek returns the first key that is not before from, or if past, that is behind it; false if
	// there is none. What is asked for must not go backwards from call to call.
	seek(from object.Key, past bool) (object.Key, bool)
}

// found walks over the postings of one value.
type found struct {
	it    btree.IterG[posting]
	value string
	at    object.Key
	on    bool // at is where the walk stands
	ended bool
}

func (c *found) seek(from object.Key, past bool) (object.Key, bool) {
	for step := 0; !c.ended; step++ {
		if c.on && !before(c.at, from) && !(past && c.at == from) {
			return c.at, true
		}
		var ok bool
		if c.on && step != 1 { // one step on, as that is often enough; then a jump; then one step past from
			ok = c.it.Next()
		} else {
			ok = c.it.Seek(posting{c.value, from})
		}
		c.move(ok)
	}
	return object.Key{}, false
}

func (c *found) move(ok bool) {
	if ok {
		if p := c.it.Item(); p.value == c.value {
			c.at, c.on = p.key, true
			return
		}
	}
	c.ended = true
}

// everything walks over all objects.
type everything struct{ it btree.IterG[record] }

func (c *everything) seek(from object.Key, past bool) (object.Key, bool) {
	ok := c.it.Seek(record{key: from})
	if ok && past && c.it.Item().key == from {
		ok = c.it.Next()
	}
	if !ok {
		return object.Key{}, false
	}
	return c.it.Item().key, true
}

// all walks over the keys that every one of several cursors has. They leap over each other, so
// the work is bounded by the one with the fewest keys.
type all []cursor

func (c all) seek(from object.Key, past bool) (object.Key, bool) {
	key, ok := c[0].seek(from, past)
	for agree := 1; ok && agree < len(c); {
		var next object.Key
		next, ok = c[agree].seek(key, false)
		agree++
		if ok && next != key {
			key, ok = c[0].seek(next, false)
			agree = 1
		}
	}
	return key, ok
}

// anyOf walks over the keys that at least one of several cursors has, each once.
type anyOf []cursor

func (c anyOf) seek(from object.Key, past bool) (first object.Key, ok bool) {
	for _, each := range c {
		if key, has := each.seek(from, past); has && (!ok || before(key, first)) {
			first, ok = key, true
		}
	}
	return first, ok
}
