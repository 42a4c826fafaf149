package store

import (
	"github.com/tidwall/btree"

	"github.com/flyball-io/flyball/object"
)

// record is what the tree of objects holds.
type record struct {
	key   object.Key
	entry *Entry
	terms *terms // nil if no index holds it
}

// posting says that an index finds key under value.
type posting struct {
	value string
	key   object.Key
}

// before is Key.Compare(l) < 0, with the usual case of one namespace first.
func before(k, l object.Key) bool {
	if k.Namespace == l.Namespace {
		return k.Name < l.Name
	}
	return k.Namespace < l.Namespace
}

func recordBefore(a, b record) bool { return before(a.key, b.key) }

func postingBefore(a, b posting) bool {
	if a.value == b.value {
		return before(a.key, b.key)
	}
	return a.value < b.value
}

// degree is that of all trees: nodes of 15 to 31 items. A wider node makes reads a little faster,
// and every commit dearer, as it copies one node on each level.
const degree = 16

// table is a sorted tree that is copied before it is changed, if someone else may hold it.
type table[T any] struct {
	tree   *btree.BTreeG[T]
	shared bool
}

func newTable[T any](less func(a, b T) bool) table[T] {
	return table[T]{tree: btree.NewBTreeGOptions(less, btree.Options{Degree: degree, NoLocks: true})}
}

// own returns the tree, to be changed. Copying one is O(1): nodes are copied as they change.
func (t *table[T]) own() *btree.BTreeG[T] {
	if t.shared {
		t.tree, t.shared = t.tree.Copy(), false
	}
	return t.tree
}

// index is what one index holds in one state of the store.
type index struct {
	*definition
	postings table[posting]
}

// state is the content of the store: objects, and every index over exactly these.
type state struct {
	objects table[record]
	indexes []index
	bytes   int64
	aside   int
}

func newState() state { return state{objects: newTable(recordBefore)} }

// fork returns a state of its own with the same content.
func (s *state) fork() state {
	f := *s
	f.objects.shared = true
	f.indexes = make([]index, len(s.indexes))
	for i, x := range s.indexes {
		x.postings.shared = true
		f.indexes[i] = x
	}
	return f
}

func (s *state) get(key object.Key) (record, bool) { return s.objects.tree.Get(record{key: key}) }

// set puts r in the place of old, which is the zero record if there was none.
func (s *state) set(old, r record) {
	s.count(old.entry, -1)
	s.count(r.entry, 1)
	s.objects.own().Set(r)
	s.reindex(r.key, old.terms, r.terms)
}

// unset takes out a record that is there.
func (s *state) unset(old record) {
	s.count(old.entry, -1)
	s.objects.own().Delete(old)
	s.reindex(old.key, old.terms, nil)
}

func (s *state) count(e *Entry, sign int) {
	if e == nil {
		return
	}
	s.bytes += int64(sign * e.size())
	if e.aside != nil {
		s.aside += sign
	}
}

// reindex changes the postings of key from the terms was to the terms is, touching only those
// that differ.
func (s *state) reindex(key object.Key, was, is *terms) {
	if was == nil && is == nil {
		return
	}
	for i := range s.indexes {
		x := &s.indexes[i]
		del, add := was.of(x.definition), is.of(x.definition)
		for len(del) > 0 || len(add) > 0 {
			switch {
			case len(add) == 0 || len(del) > 0 && del[0] < add[0]:
				x.postings.own().Delete(posting{del[0], key})
				del = del[1:]
			case len(del) == 0 || add[0] < del[0]:
				x.postings.own().Set(posting{add[0], key})
				add = add[1:]
			default:
				del, add = del[1:], add[1:]
			}
		}
	}
}

// find returns the index of that name, or nil.
func (s *state) find(name string) *index {
	for i := range s.indexes {
		if s.indexes[i].name == name {
			return &s.indexes[i]
		}
	}
	return nil
}

// addIndex builds an index over what is there. classify gives the values of an entry, or the
// entry that is to stand for it, set aside; replaced is called for each such pair. All trees are
// built anew, so that a state that shares the old ones is not disturbed.
func (s *state) addIndex(d *definition, classify func(*Entry) ([]string, *Entry), replaced func(e, aside *Entry)) {
	var failed []record
	objects, postings := newTable(recordBefore), newTable(postingBefore)
	s.objects.tree.Scan(func(r record) bool {
		values, aside := classify(r.entry)
		if aside != nil {
			failed = append(failed, r)
		} else if len(values) > 0 {
			var t terms
			if r.terms != nil {
				t = append(t, *r.terms...)
			}
			t = t.with(d, values)
			r.terms = &t
			for _, v := range values {
				postings.tree.Set(posting{v, r.key})
			}
		}
		objects.tree.Load(r)
		return true
	})
	s.objects = objects
	s.indexes = append(s.indexes, index{definition: d, postings: postings})
	for _, r := range failed {
		_, aside := classify(r.entry)
		s.set(r, record{key: r.key, entry: aside})
		replaced(r.entry, aside)
	}
}

// removeIndex drops an index; false if there is none of that name.
func (s *state) removeIndex(name string) bool {
	for i := range s.indexes {
		if s.indexes[i].name == name {
			s.indexes = append(append([]index(nil), s.indexes[:i]...), s.indexes[i+1:]...)
			return true
		}
	}
	return false
}
