package store

import (
	"slices"

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
	value string
	term  *term // shared by the objects that have this value alone
	slots cow.Tree
}

func postingBefore(a, b posting) bool { return a.value < b.value }

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

// term holds the values under which an index has an object: sorted, each once. They are kept so
// that removal does not call a user's function.
type term struct{ values []string }

func (t *term) of() []string {
	if t == nil {
		return nil
	}
	return t.values
}

// term returns a term of these values. Objects with the same single value share one.
func (x *index) term(values []string) *term {
	if len(values) == 0 {
		return nil
	}
	if len(values) == 1 {
		if p, ok := x.found.tree.Get(posting{value: values[0]}); ok && p.term != nil {
			return p.term
		}
	}
	return &term{values}
}

// set changes the values of a slot whose record is already written. It touches only the difference.
func (x *index) set(s *state, o *cow.Owner, slot uint32, values []string) {
	if x.missed > 0 && x.missing.Get(slot) {
		x.missing.Set(o, slot, false)
		x.missed--
	}
	was := x.terms.Get(slot).of()
	if slices.Equal(was, values) {
		return
	}
	is := x.term(values)
	x.terms.Set(o, slot, is)
	var room [128]byte
	at := s.probe(s.key(room[:0], slot))
	for add := is.of(); len(was) > 0 || len(add) > 0; {
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

func (x *index) add(o *cow.Owner, value string, t *term, slot uint32, at cow.Probe) {
	found := x.found.own()
	p, ok := found.Get(posting{value: value})
	if !ok {
		p.value = value
	}
	if p.term == nil && len(t.values) == 1 {
		p.term = t
	}
	p.slots.Insert(o, slot, at)
	found.Set(p)
}

func (x *index) remove(o *cow.Owner, value string, at cow.Probe) {
	found := x.found.own()
	p, _ := found.Get(posting{value: value})
	p.slots.Delete(o, at)
	if p.slots.Len() == 0 {
		found.Delete(p)
		return
	}
	found.Set(p)
}
