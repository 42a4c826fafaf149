package control

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/decode"
)

// Meta has the metadata of an object that controllers read. It never changes.
type Meta struct {
	APIVersion        string                  `json:"-"` // as it is stored
	Kind              string                  `json:"-"`
	Name              string                  `json:"name"`
	Namespace         string                  `json:"namespace"`
	UID               types.UID               `json:"uid"`
	DeletionTimestamp *metav1.Time            `json:"deletionTimestamp"`
	Finalizers        []string                `json:"finalizers"`
	OwnerReferences   []metav1.OwnerReference `json:"ownerReferences"`
	Labels            map[string]string       `json:"labels"`
}

// Controller returns the reference to the controller of the object; nil if it has none.
func (m *Meta) Controller() *metav1.OwnerReference {
	for i := range m.OwnerReferences {
		if o := &m.OwnerReferences[i]; o.Controller != nil && *o.Controller {
			return o
		}
	}
	return nil
}

// Change is the change of an object since the last step. Was is nil if the object is new, Is if it is gone. The two may
// have different uids: the object was deleted, and another one with its name was created.
type Change struct {
	Key     string
	Was, Is *Meta
}

// Metas returns the metadata of the object before and after the change, without nil.
func (c Change) Metas() iter.Seq[*Meta] {
	return func(yield func(*Meta) bool) {
		if c.Was != nil && !yield(c.Was) {
			return
		}
		if c.Is != nil {
			yield(c.Is)
		}
	}
}

// In reports whether a change is of an object of a kind.
func (c Change) In(k Kind) bool { return k.Has(c.Key) }

// State is a view with indexes. It is for one goroutine, and valid until the next step.
type State struct {
	core.View

	entries map[string]*entry
	uids    map[types.UID]string          // key by uid
	owned   map[types.UID]map[string]bool // keys by the uid of each owner
	orphans map[string]map[string]bool    // keys of objects without a controller, by key prefix of their namespace
}

// entry has an object, and its decoded forms.
type entry struct {
	object *core.Object
	meta   *Meta
	typed  any // the result of Get; nil before it
}

func newState() *State {
	return &State{entries: map[string]*entry{}, uids: map[types.UID]string{}, owned: map[types.UID]map[string]bool{}, orphans: map[string]map[string]bool{}}
}

// advance moves the state to a view, given the log of changes up to it. It returns one change for each key, in the order
// of the first changes.
func (s *State) advance(v core.View, log []core.Change) []Change {
	s.View = v
	out := make([]Change, 0, len(log))
	places := make(map[string]int, len(log))
	for _, c := range log {
		key := c.Object.Key
		old := s.entries[key]
		at, seen := places[key]
		if !seen {
			at = len(out)
			places[key] = at
			out = append(out, Change{Key: key})
			if old != nil {
				out[at].Was = old.meta
			}
		}
		if old != nil {
			s.forget(key, old)
		}
		out[at].Is = nil
		if !c.Deleted {
			e := &entry{object: c.Object, meta: metaOf(c.Object)}
			out[at].Is = e.meta
			s.add(key, e)
		}
	}
	return slices.DeleteFunc(out, func(c Change) bool { return c.Was == nil && c.Is == nil })
}

func metaOf(o *core.Object) *Meta {
	var m struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   Meta   `json:"metadata"`
	}
	mustDecode(o, &m)
	m.Metadata.APIVersion, m.Metadata.Kind = m.APIVersion, m.Kind
	return &m.Metadata
}

// mustDecode decodes an object. It panics on an error: rules have written the object.
func mustDecode(o *core.Object, into any) {
	if err := decode.JSON(o.JSON, into); err != nil {
		panic(fmt.Sprintf("the stored object %s does not fit %T: %v", o.Key, into, err))
	}
}

func (s *State) add(key string, e *entry) {
	s.entries[key] = e
	s.uids[e.meta.UID] = key
	for _, o := range e.meta.OwnerReferences {
		put(s.owned, o.UID, key)
	}
	if e.meta.Controller() == nil {
		put(s.orphans, parent(key), key)
	}
}

func (s *State) forget(key string, e *entry) {
	delete(s.entries, key)
	if s.uids[e.meta.UID] == key {
		delete(s.uids, e.meta.UID)
	}
	for _, o := range e.meta.OwnerReferences {
		drop(s.owned, o.UID, key)
	}
	drop(s.orphans, parent(key), key)
}

func put[K comparable](index map[K]map[string]bool, at K, key string) {
	if index[at] == nil {
		index[at] = map[string]bool{}
	}
	index[at][key] = true
}

func drop[K comparable](index map[K]map[string]bool, at K, key string) {
	delete(index[at], key)
	if len(index[at]) == 0 {
		delete(index, at)
	}
}

// parent returns a key without its name.
func parent(key string) string { return key[:strings.LastIndexByte(key, '/')+1] }

// Meta returns the metadata of an object; nil if there is none.
func (s *State) Meta(key string) *Meta {
	if e := s.entries[key]; e != nil {
		return e.meta
	}
	return nil
}

// Find returns the key of the object with a uid; "" if there is no such object.
func (s *State) Find(uid types.UID) string { return s.uids[uid] }

// Owned returns the keys of the objects that name an owner in a reference, sorted.
func (s *State) Owned(owner types.UID) []string { return slices.Sorted(maps.Keys(s.owned[owner])) }

// Orphans returns the keys of the objects of a kind in a namespace that have no controller, sorted.
func (s *State) Orphans(k Kind, namespace string) []string {
	return slices.Sorted(maps.Keys(s.orphans[k.Prefix(namespace)]))
}

// Get returns the decoded object with a key; nil if there is none. Callers share it and must not change it. It has no
// managed fields: in an update the server keeps them.
func Get[T any](s *State, key string) *T {
	e := s.entries[key]
	if e == nil {
		return nil
	}
	if o, ok := e.typed.(*T); ok {
		return o
	}
	o := new(T)
	mustDecode(e.object, o)
	if m, ok := any(o).(metav1.Object); ok {
		m.SetManagedFields(nil)
	}
	e.typed = o
	return o
}

// List returns the decoded objects of a kind in a namespace, or in all namespaces for "", sorted by key. See [Get].
func List[T any](s *State, k Kind, namespace string) iter.Seq2[string, *T] {
	return func(yield func(string, *T) bool) {
		for o := range s.All(k.Prefix(namespace)) {
			if !yield(o.Key, Get[T](s, o.Key)) {
				return
			}
		}
	}
}
