package handlers

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/adapter/internal/objects"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// state is one state of an object, decoded when the first handler asks. All handlers share the object, as they
// share those of the default cache: they must not change it.
type state struct {
	of    *decoded
	entry *store.Entry
	once  sync.Once
	obj   object.Object
	err   error
	// indexed says that only an index function has the state yet. Its entry has no object any more.
	indexed bool
}

// object returns the decoded object.
func (s *state) object() (object.Object, error) {
	s.once.Do(func() {
		s.decode(func(into object.Object) error { return s.of.decode(s.entry, into) })
	})
	return s.obj, s.err
}

func (s *state) decode(f func(object.Object) error) {
	if s.obj, s.err = s.of.new(); s.err == nil {
		s.err = f(s.obj)
	}
	if s.err == nil {
		s.of.clean(s.obj)
	}
}

// decoded finds the states of one watch that somebody still uses, so that a state is decoded once for all
// handlers, and not again when it is the old one of an update. It keeps none alive.
type decoded struct {
	new    func() (object.Object, error)
	decode func(*store.Entry, object.Object) error // it reports an error once
	clean  func(object.Object)                     // what is done with each decoded object

	mu     sync.Mutex
	states map[uint64]weak.Pointer[state] // the newest of each key, by its hash
	adds   int                            // since those that are gone were dropped
	limit  int                            // of adds
	recent weak.Pointer[shown]            // of the last change

	indexes atomic.Int32        // number of index functions
	asked   weak.Pointer[state] // that an index function of a first list was asked about last
}

// shown are the states of one change. All handlers of a watch have the same.
type shown struct {
	old, new, last *state
	of             [3]*store.Entry // the entries of the change: they identify it
}

var keySeed = maphash.MakeSeed()

// minStates is the number of states from which on decoded drops some.
const minStates = 1024

func newDecoded(empty func() (object.Object, error), decode func(*store.Entry, object.Object) error) *decoded {
	return &decoded{new: empty, decode: decode, clean: objects.Untag, states: map[uint64]weak.Pointer[state]{}, limit: minStates}
}

// show returns the states of a change.
func (d *decoded) show(c store.Change) *shown {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.Initial && c.New != nil { // there are many of them, and the state alone is shared
		return &shown{new: d.state(c.New, true)}
	}
	of := [3]*store.Entry{c.Old, c.New, c.Last}
	if s := d.recent.Value(); s != nil {
		if s.of == of {
			return s
		}
		s.of = [3]*store.Entry{} // pending events keep s
	}
	s := &shown{of: of}
	if c.Old != c.New {
		s.old = d.state(c.Old, false)
	}
	if s.new = d.state(c.New, true); c.Old == c.New {
		s.old = s.new
	}
	s.last = d.state(c.Last, false)
	d.recent = weak.Make(s)
	return s
}

// state returns the state of an entry; nil for nil. newest says that it is the newest one of its key.
func (d *decoded) state(e *store.Entry, newest bool) *state {
	if e == nil {
		return nil
	}
	key := maphash.Comparable(keySeed, e.Key())
	if s := d.states[key].Value(); s != nil && s.entry.Same(e) {
		if s.indexed {
			s.entry, s.indexed = e.Compact(), false
		}
		return s
	}
	s := &state{of: d, entry: e.Compact()}
	if newest {
		d.add(key, s)
	}
	return s
}

func (d *decoded) add(key uint64, s *state) {
	d.states[key] = weak.Make(s)
	if d.adds++; d.adds >= d.limit {
		d.sweep()
	}
}

// index returns the decoded object of an entry for an index function. share says that handlers will want it,
// too. Index functions that are asked about an entry one after the other share it in any case. An entry that the
// store lends, or unpacks, is not shared: many of those come at once.
func (d *decoded) index(e *store.Entry, share bool) (object.Object, error) {
	s := d.indexed(e, share)
	s.once.Do(func() { s.decode(e.Decode) })
	return s.obj, s.err
}

func (d *decoded) indexed(e *store.Entry, share bool) *state {
	own := &state{of: d, entry: e, indexed: share}
	if !share && d.indexes.Load() < 2 || e.Compact() != e {
		return own
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !share {
		if s := d.asked.Value(); s != nil && s.entry == e {
			return s
		}
		d.asked = weak.Make(own)
		return own
	}
	key := maphash.Comparable(keySeed, e.Key())
	if s := d.states[key].Value(); s != nil && s.entry.Same(e) {
		return s
	}
	d.add(key, own)
	return own
}

// sweep drops the states that are gone. A map never shrinks, so the rest goes into a new one.
func (d *decoded) sweep() {
	live := map[uint64]weak.Pointer[state]{}
	for key, p := range d.states {
		if p.Value() != nil {
			live[key] = p
		}
	}
	d.states, d.adds, d.limit = live, 0, max(minStates, 2*len(live))
}

// bare returns an object that has only its namespace, name, UID and version. It stands for an incarnation whose
// states are not known. The version is that of the change that reported it.
func (d *decoded) bare(h *object.Header) object.Object {
	o, err := d.new()
	if err != nil {
		o = &metav1.PartialObjectMetadata{}
	}
	d.clean(o)
	o.SetNamespace(h.Namespace)
	o.SetName(h.Name)
	o.SetUID(h.UID)
	o.SetResourceVersion(h.ResourceVersion)
	return o
}
