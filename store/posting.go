package store

import (
	"slices"
	"strings"

	"github.com/tidwall/btree"

	"github.com/flyball-io/flyball/internal/cow"
)

// index is the content of one index in one state of the store.
type index struct {
	*definition
	found table[posting]
	terms cow.Table[*term] // of each slot in the index
	// missing is the set of slots that the index has not been asked about; missed is their number.
	// Their terms are those of an earlier record. While it is not empty the index cannot be read.
	missing cow.Table[bool]
	missed  int
	pending *pendingIndex // set if missed is not 0
}

// posting is the set of objects that an index has under a value.
type posting struct {
	term  *term // of the value alone; shared by the objects that have no other
	slots cow.Tree
}

func postingBefore(a, b posting) bool { return a.term.value < b.term.value }

// table is a sorted tree that is copied before a change, if another state may hold it.
type table[T any] struct {
	tree   *btree.BTreeG[T]
	shared bool
}

// degree is that of the trees of values: nodes of 15 to 31 items.
const degree = 16

func newTable[T any](less func(a, b T) bool) table[T] {
	return table[T]{tree: btree.NewBTreeGOptions(less, btree.Options{Degree: degree, NoLocks: true})}
}

// own returns the tree for changing. Copying it is O(1): nodes are copied as they change.
func (t *table[T]) own() *btree.BTreeG[T] {
	if t.shared {
		t.tree, t.shared = t.tree.Copy(), false
	}
	return t.tree
}

// index returns the index of that name, or nil.
func (s *state) index(name string) *index {
	for i := range s.indexes {
		if s.indexes[i].name == name {
			return &s.indexes[i]
		}
	}
	return nil
}

// removeIndex removes an index; false if there is none of that name.
func (s *state) removeIndex(name string) bool {
	for i := range s.indexes {
		if s.indexes[i].name == name {
			s.indexes = slices.Concat(s.indexes[:i], s.indexes[i+1:])
			return true
		}
	}
	return false
}

// term holds the values under which an index has an object. They are kept so that removal does not
// call a user's function.
type term struct {
	value string    // if it is the only one
	more  *[]string // if there are several: all of them, sorted, each once
}

// of returns the values. room is for one of them.
func (t *term) of(room *[1]string) []string {
	switch {
	case t == nil:
		return nil
	case t.more != nil:
		return *t.more
	}
	room[0] = t.value
	return room[:]
}

// find returns the posting of a value; false if there is none. Only the writer calls it.
func (x *index) find(value string) (posting, bool) {
	x.sought.value = value
	p, ok := x.found.tree.Get(posting{term: &x.sought})
	x.sought.value = "" // it may be part of an object
	return p, ok
}

// one returns the term of a value. It keeps nothing of the string, which may be part of an object.
func (x *index) one(value string) *term {
	if p, ok := x.find(value); ok {
		return p.term
	}
	return &term{value: strings.Clone(value)}
}

// term returns a term of these values. Objects with the same single value share one.
func (x *index) term(values []string) *term {
	switch len(values) {
	case 0:
		return nil
	case 1:
		return x.one(values[0])
	}
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = x.one(v).value
	}
	return &term{more: &all}
}

// set changes the values of a slot whose record is already written. It touches only the difference.
func (x *index) set(s *state, o *cow.Owner, slot uint32, values []string) {
	if x.missed > 0 && x.missing.Get(slot) {
		x.missing.Set(o, slot, false)
		x.missed--
	}
	var oneOld, oneNew [1]string
	was := x.terms.Get(slot).of(&oneOld)
	if slices.Equal(was, values) {
		return
	}
	is := x.term(values)
	x.terms.Set(o, slot, is)
	var room [128]byte
	at := s.probe(s.key(room[:0], slot))
	for add := is.of(&oneNew); len(was) > 0 || len(add) > 0; {
		switch {
		case len(add) == 0 || len(was) > 0 && was[0] < add[0]:
			x.remove(o, was[0], at)
			was = was[1:]
		case len(was) == 0 || add[0] < was[0]:
			x.add(o, add[0], is, slot, at)
			add = add[1:]
		default:
			was, add = was[1:], add[1:]
		}
	}
}

// markMissing records that the index has not been asked about the record of a slot.
func (x *index) markMissing(o *cow.Owner, slot uint32, p *pendingIndex) {
	if x.pending = p; !x.missing.Get(slot) {
		x.missing.Set(o, slot, true)
		x.missed++
	}
}

// add adds a slot to the posting of a value of t.
func (x *index) add(o *cow.Owner, value string, t *term, slot uint32, at cow.Probe) {
	found := x.found.own()
	p, ok := x.find(value)
	switch {
	case ok:
	case t.more == nil:
		p.term = t
	default:
		p.term = &term{value: value}
	}
	p.slots.Insert(o, slot, at)
	found.Set(p)
}

// remove removes the slot that at finds from the posting of a value.
func (x *index) remove(o *cow.Owner, value string, at cow.Probe) {
	found := x.found.own()
	p, _ := x.find(value)
	p.slots.Delete(o, at)
	if p.slots.Len() == 0 {
		found.Delete(p)
		return
	}
	found.Set(p)
}
