package store

import (
	"bytes"
	"iter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flyball-io/flyball/object"
)

// Snapshot is one state of the store: every object, and every index over exactly these. It is
// immutable and for any number of goroutines. Iterators over it hold nothing up and can be run
// more than once.
type Snapshot struct {
	state
	opts    *Options
	version uint64
	synced  bool
}

// Version counts the states published before this one. It has nothing to do with resourceVersions.
func (s *Snapshot) Version() uint64 { return s.version }

// Synced reports whether a whole list of the kind has been in the store. Before that an empty
// answer means nothing.
func (s *Snapshot) Synced() bool { return s.synced }

// Len is the number of objects, those set aside included.
func (s *Snapshot) Len() int { return s.keys.Len() }

// Lookup returns the entry under key, set aside or not, and whether there is one. For a
// cluster-scoped kind the namespace of the key is ignored.
func (s *Snapshot) Lookup(key object.Key) (*Entry, bool) {
	if s.opts.ClusterScoped {
		key.Namespace = ""
	}
	slot, ok := s.find(key)
	if !ok {
		return nil, false
	}
	return s.load(slot, &key), true
}

// entry is that of a slot; nil if there is none. A key is given if it is at hand.
func (s *Snapshot) entry(slot uint32, key *object.Key) *Entry {
	if s.records.Get(slot) == 0 {
		return nil
	}
	return s.load(slot, key)
}

// Get returns the entry under key, ready to be decoded.
//
// Errors: one for which apierrors.IsNotFound holds, with group, resource and name; *SetAsideError
// for an object that is there and cannot be used.
func (s *Snapshot) Get(key object.Key) (*Entry, error) {
	e, ok := s.Lookup(key)
	if !ok {
		return nil, apierrors.NewNotFound(s.opts.Resource, key.Name)
	}
	if e.aside != nil {
		return nil, s.SetAsideError(e)
	}
	return e, nil
}

// SetAsideError is the error for an entry of this store that was set aside; nil for any other.
// Iterators yield such entries among the others, told apart by Entry.Err.
func (s *Snapshot) SetAsideError(e *Entry) error {
	if e.aside == nil {
		return nil
	}
	return &SetAsideError{Resource: s.opts.Resource, Key: e.key, Err: e.aside}
}

// All yields every entry, in the order of keys; those set aside too.
func (s *Snapshot) All() iter.Seq[*Entry] { return s.scan(Query{}) }

// InNamespace yields the entries of a namespace, in the order of keys; those set aside too.
func (s *Snapshot) InNamespace(namespace string) iter.Seq[*Entry] {
	if namespace == "" {
		return func(yield func(*Entry) bool) {
			for e := range s.All() {
				if e.key.Namespace != "" || !yield(e) {
					return
				}
			}
		}
	}
	return s.scan(Query{Namespace: namespace})
}

// Index yields the entries that an index finds under value, in the order of keys. The error is
// *UnknownIndexError or *IndexPendingError.
func (s *Snapshot) Index(name, value string) (iter.Seq[*Entry], error) {
	return s.Select(Query{Where: Is(name, value)})
}

// Where yields the entries that meet a condition, in the order of keys; a nil one is met by all.
// The error is *UnknownIndexError or *IndexPendingError.
func (s *Snapshot) Where(cond Cond) (iter.Seq[*Entry], error) { return s.Select(Query{Where: cond}) }

// HasIndex reports whether there is an index of that name. It may be pending.
func (s *Snapshot) HasIndex(name string) bool { return s.index(name) != nil }

// readable is the index of that name.
func (s *Snapshot) readable(name string) (*index, error) {
	x := s.index(name)
	switch {
	case x == nil:
		return nil, &UnknownIndexError{Resource: s.opts.Resource, Index: name}
	case x.missed > 0:
		return nil, x.pending.err(s.opts.Resource, name, x.missed)
	}
	return x, nil
}

// IndexValues yields the values under which an index finds anything, sorted, each once. The error
// is *UnknownIndexError or *IndexPendingError.
func (s *Snapshot) IndexValues(name string) (iter.Seq[string], error) {
	x, err := s.readable(name)
	if err != nil {
		return nil, err
	}
	return func(yield func(string) bool) {
		it := x.found.tree.Iter()
		for ok := it.First(); ok; ok = it.Next() {
			if !yield(it.Item().value) {
				return
			}
		}
	}, nil
}

// Query selects entries. The zero Query selects all.
type Query struct {
	// Namespace restricts to one namespace; empty means all.
	Namespace string
	// Where is a condition on indexes; nil means none. No index holds an entry that was set aside.
	Where Cond
	// Match restricts to entries of which it says so; nil means all. It is asked last, and is lent
	// each entry until it returns; see [Store.Look].
	Match func(*Entry) bool
	// After restricts to keys behind this one, to go on where an earlier read stopped, in this
	// snapshot or a later one. The zero Key means from the start.
	After object.Key
}

// Select yields what a Query selects, in the order of keys. Whoever has enough stops the
// iteration. The error is *UnknownIndexError or *IndexPendingError, for the condition.
//
// Nothing is collected or sorted: reading the first few results of a large selection costs by
// these few. An And costs by its smallest part.
func (s *Snapshot) Select(q Query) (iter.Seq[*Entry], error) {
	if q.Where == nil {
		q.Where = And()
	}
	if err := q.Where.check(s); err != nil {
		return nil, err
	}
	return func(yield func(*Entry) bool) {
		w := walk{s: s, at: q.Where.open(&s.state), match: q.Match}
		w.from = appendKey(nil, object.Key{Namespace: q.Namespace})
		if q.Namespace != "" {
			w.prefix = bytes.Clone(w.from)
		}
		if after := appendKey(nil, q.After); q.After != (object.Key{}) && bytes.Compare(after, w.from) >= 0 {
			w.from, w.past = after, true
		}
		for e := w.next(); e != nil && yield(e); e = w.next() {
		}
	}, nil
}

// walk is the way through what a Query selects.
type walk struct {
	s      *Snapshot
	at     cursor
	prefix []byte // of all keys
	match  func(*Entry) bool
	from   []byte // the key at which it is, or if past, behind which
	past   bool
}

// next is the next entry; nil at the end.
func (w *walk) next() *Entry {
	s := w.s
	for {
		slot, ok := w.at.seek(w.from, w.past)
		if !ok {
			return nil
		}
		w.from, w.past = s.key(w.from[:0], slot), true
		if !bytes.HasPrefix(w.from, w.prefix) {
			return nil
		}
		if w.match == nil || s.matches(slot, w.match) {
			return s.load(slot, nil)
		}
	}
}

func (s *state) matches(slot uint32, match func(*Entry) bool) (ok bool) {
	if e := s.asides.Get(slot); e != nil {
		return match(e)
	}
	s.lend(slot, func(e *Entry) { ok = match(e) })
	return ok
}

// scan is Select without a condition on indexes.
func (s *Snapshot) scan(q Query) iter.Seq[*Entry] {
	all, _ := s.Select(q) // it is the condition that could be wrong
	return all
}
