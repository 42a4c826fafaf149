package predicate

import (
	"fmt"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// Funcs judge typed objects, which belong to the function called. A nil function passes every event
// of its kind. P is the pointer to the struct type, for example *corev1.Pod.
type Funcs[P object.Object] struct {
	// Create judges an object that appeared.
	Create func(obj P) bool
	// Update judges an object that changed, or that a resync reports unchanged.
	Update func(old, new P) bool
	// Delete judges an object that disappeared, by its last known state.
	Delete func(obj P) bool
	// Generic judges an event from outside the cluster.
	Generic func(obj P) bool
}

// New returns a predicate of functions over one type:
//
//	predicate.New(predicate.Funcs[*corev1.Pod]{Update: func(old, new *corev1.Pod) bool { … }})
//
// An object that took the name of another passes if the Delete of the old one or the Create of the
// new one passes. Changes reported since the server went back in time pass without a call of
// Update. An object is decoded only for a function that is set. An object that cannot be decoded,
// or an event from outside with another type, is an error, and so passes.
func New[T any, P object.Ptr[T]](f Funcs[P]) Predicate { return typed[T, P]{f} }

type typed[T any, P object.Ptr[T]] struct{ f Funcs[P] }

func (t typed[T, P]) Match(c store.Change) (bool, error) {
	switch {
	case c.New == nil:
		return t.one(t.f.Delete, c.Last)
	case c.Old == nil:
		return t.one(t.f.Create, c.New)
	case c.Replaced():
		if ok, err := t.one(t.f.Delete, c.Old); ok || err != nil {
			return true, err
		}
		return t.one(t.f.Create, c.New)
	}
	if t.f.Update == nil || c.Reset {
		return true, nil
	}
	old, err := t.decode(c.Old)
	if err != nil {
		return true, err
	}
	new, err := t.decode(c.New)
	if err != nil {
		return true, err
	}
	return t.f.Update(old, new), nil
}

func (t typed[T, P]) MatchGeneric(o object.Object) (bool, error) {
	if t.f.Generic == nil {
		return true, nil
	}
	p, ok := o.(P)
	if !ok {
		return true, fmt.Errorf("predicate for %T: the event carries a %T", p, o)
	}
	return t.f.Generic(p), nil
}

func (t typed[T, P]) one(f func(P) bool, e *store.Entry) (bool, error) {
	if f == nil || e == nil {
		return true, nil
	}
	p, err := t.decode(e)
	if err != nil {
		return true, err
	}
	return f(p), nil
}

func (t typed[T, P]) decode(e *store.Entry) (P, error) {
	p := P(new(T))
	if err := e.Decode(p); err != nil {
		return nil, err
	}
	return p, nil
}
