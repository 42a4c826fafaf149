package store

import (
	"bytes"
	"iter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flyball-io/flyball/object"
)

// Snapshot is one state of the store: every object, and every index over exactly these. It is
// immutable and safe for any number of goroutines. Iterators over it block nothing and can run more
// than once.
type Snapshot struct {
	state
	opts    *Options
	version uint64
	synced  bool
}

// Version is the number of states published before this one. It is unrelated to resourceVersions.
func (s *Snapshot) Version() uint64 { return s.version }

// Synced reports whether the store has had a complete list of the kind. Before that an empty answer
// means nothing.
func (s *Snapshot) Synced() bool { return s.synced }

// Len is the number of objects, rejected ones included.
func (s *Snapshot) Len() int { return s.keys.Len() }

// ClusterScoped reports whether no object has a namespace. An empty snapshot takes it from the options.
func (s *Snapshot) ClusterScoped() bool {
	if s.Len() > 0 {
		return s.bare == s.Len()
	}
	return s.opts.ClusterScoped
}

// Lookup returns the entry under key, rejected or not, and whether there is one. For a
// cluster-scoped kind the namespace of the key is ignored.
func (s *Snapshot) Lookup(key object.Key) (*Entry, bool) {
	if s.ClusterScoped() {
		key.Namespace = ""
	}
	slot, ok := s.find(key)
	if !ok {
		return nil, false
	}
	return s.load(slot, &key), true
}

// entry returns the entry of a slot; nil if the slot is empty. key is its key if the caller has it,
// or nil.
func (s *Snapshot) entry(slot uint32, key *object.Key) *Entry {
	if s.records.Get(slot) == 0 {
		return nil
	}
	return s.load(slot, key)
}

// Get returns the entry under key, ready to be decoded.
//
// Errors: one for which apierrors.IsNotFound holds, with group, resource and name; *RejectedError
// for a rejected object, which exists but cannot be used.
func (s *Snapshot) Get(key object.Key) (*Entry, error) {
	e, ok := s.Lookup(key)
	if !ok {
		return nil, apierrors.NewNotFound(s.opts.Resource, key.Name)
	}
	if e.rejected != nil {
		return nil, s.RejectedError(e)
	}
	return e, nil
}

// RejectedError returns the error for a rejected entry of this store; nil for any other. Iterators
// yield rejected entries among the others; Entry.Err tells them apart.
func (s *Snapshot) RejectedError(e *Entry) error {
	if e.rejected == nil {
		return nil
	}
	return &RejectedError{Resource: s.opts.Resource, Key: e.key, Err: e.rejected}
}

// All yields every entry, in the order of keys, rejected ones included.
func (s *Snapshot) All() iter.Seq[*Entry] { return s.scan(Query{}) }

// InNamespace yields the entries of a namespace, in the order of keys, rejected ones included. An
// empty namespace yields cluster-scoped objects only.
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

// Index yields the entries that an index has under value, and all rejected ones, in the order of keys. See
// [Query]. The error is *UnknownIndexError or *IndexPendingError.
func (s *Snapshot) Index(name, value string) (iter.Seq[*Entry], error) {
	return s.Select(Query{Where: Is(name, value)})
}

// readable returns the index of that name, or the error of a missing or pending one.
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

// IndexValues yields the values that an index has, sorted, each once. Rejected entries have none. The error is
// *UnknownIndexError or *IndexPendingError.
func (s *Snapshot) IndexValues(name string) (iter.Seq[string], error) {
	x, err := s.readable(name)
	if err != nil {
		return nil, err
	}
	return func(yield func(string) bool) {
		it := x.found.tree.Iter()
		for ok := it.First(); ok; ok = it.Next() {
			if !yield(it.Item().term.value) {
				return
			}
		}
	}, nil
}

// Query selects entries. The zero Query selects all.
type Query struct {
	// Namespace restricts to one namespace; empty means all.
	Namespace string
	// Where is a condition on indexes; nil means none. See [Is] for rejected entries.
	Where Cond
	// Match restricts to entries for which it returns true; nil means all. It is asked last. Each
	// entry is lent to it until it returns; see [Store.Look].
	Match func(*Entry) bool
	// After restricts to keys behind this one, to continue an earlier read in this snapshot or a
	// later one. The zero Key starts at the beginning.
	After object.Key
	// Lent lends each entry until the next one, or the end of the loop: nothing is copied. See [Store.Look].
	Lent bool
}

// Select yields the entries that a Query selects, in the order of keys. Break out of the loop to
// stop early. The error is *UnknownIndexError or *IndexPendingError, for the condition.
//
// Nothing is collected or sorted: reading the first few results of a large selection costs no more
// than these few. An And costs as much as its smallest part.
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
		for slot, ok := w.next(); ok && s.show(slot, q.Lent, yield); slot, ok = w.next() {
		}
	}, nil
}

// walk iterates over the entries that a Query selects.
type walk struct {
	s      *Snapshot
	at     cursor
	prefix []byte // that every key must have
	match  func(*Entry) bool
	from   []byte // the current key; the next result is at it, or behind it if past
	past   bool
}

// next returns the slot of the next entry. It returns false at the end.
func (w *walk) next() (slot uint32, ok bool) {
	s := w.s
	for {
		if slot, ok = w.at.seek(w.from, w.past); !ok {
			return 0, false
		}
		w.from, w.past = s.key(w.from[:0], slot), true
		if !bytes.HasPrefix(w.from, w.prefix) {
			return 0, false
		}
		if w.match == nil || s.matches(slot, w.match) {
			return slot, true
		}
	}
}

// show calls yield with the entry of a slot, lent or to keep.
func (s *state) show(slot uint32, lent bool, yield func(*Entry) bool) (more bool) {
	if !lent || s.rejected.Get(slot) != nil {
		return yield(s.load(slot, nil))
	}
	s.lend(slot, func(e *Entry) { more = yield(e) })
	return more
}

func (s *state) matches(slot uint32, match func(*Entry) bool) (ok bool) {
	if e := s.rejected.Get(slot); e != nil {
		return match(e)
	}
	s.lend(slot, func(e *Entry) { ok = match(e) })
	return ok
}

// scan is Select without a condition on indexes.
func (s *Snapshot) scan(q Query) iter.Seq[*Entry] {
	all, _ := s.Select(q) // only a condition can fail
	return all
}
