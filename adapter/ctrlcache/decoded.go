package ctrlcache

import (
	"sync"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/informer"
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
}

// object returns the decoded object. An error is reported once, by the informer.
func (s *state) object() (object.Object, error) {
	s.once.Do(func() {
		if s.obj, s.err = s.of.new(); s.err == nil {
			s.err = s.of.in.Decode(s.entry, s.obj)
		}
		if s.err == nil {
			untag(s.obj)
		}
	})
	return s.obj, s.err
}

// decoded finds the states of one watch that somebody still uses, so that a state is decoded once for all
// handlers, and not again when it is the old one of an update. It keeps none alive.
type decoded struct {
	in  *informer.Informer
	new func() (object.Object, error)

	mu     sync.Mutex
	states map[object.Key]weak.Pointer[state]
	limit  int // the number of states at which those that are gone are dropped
}

// minStates is the least number of states at which decoded drops some.
const minStates = 1024

func newDecoded(in *informer.Informer, f func() (object.Object, error)) *decoded {
	return &decoded{in: in, new: f, states: map[object.Key]weak.Pointer[state]{}, limit: minStates}
}

// state returns the state of an entry; nil for nil.
func (d *decoded) state(e *store.Entry) *state {
	if e == nil {
		return nil
	}
	key := e.Key()
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.states[key].Value(); s != nil && s.entry.Same(e) {
		return s
	}
	s := &state{of: d, entry: e.Compact()}
	d.states[key] = weak.Make(s)
	if len(d.states) >= d.limit {
		d.sweep()
	}
	return s
}

// sweep drops the states that are gone. A map never shrinks, so the rest goes into a new one.
func (d *decoded) sweep() {
	live := map[object.Key]weak.Pointer[state]{}
	for key, p := range d.states {
		if p.Value() != nil {
			live[key] = p
		}
	}
	d.states, d.limit = live, max(minStates, 2*len(live))
}

// bare returns an object with the identity alone, for an incarnation of which no state is known. Its version is
// that of the change that reported it.
func (d *decoded) bare(h *object.Header) object.Object {
	o, err := d.new()
	if err != nil {
		o = &metav1.PartialObjectMetadata{}
	}
	untag(o)
	o.SetNamespace(h.Namespace)
	o.SetName(h.Name)
	o.SetUID(h.UID)
	o.SetResourceVersion(h.ResourceVersion)
	return o
}
