package ctrl

import (
	"fmt"

	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/store"
)

// change is a change of an object in the events of controller-runtime: the end of one incarnation, or two, and
// the beginning or an update of another. A nil part did not happen.
type change[O any] struct {
	deleted []event.TypedDeleteEvent[O]
	created *event.TypedCreateEvent[O]
	updated *event.TypedUpdateEvent[O]
}

// decoder returns an object of its own for an entry.
type decode[O any] func(*store.Entry) (O, error)

// decodes returns the decode of a Go type, for functions of O: the type itself, or client.Object.
func decodes[T any, O crclient.Object, P object.Ptr[T]](e *store.Entry) (O, error) {
	p := P(new(T))
	if err := e.Decode(p); err != nil {
		var none O
		return none, err
	}
	untag(p)
	return any(p).(O), nil
}

// accepts returns an error unless functions of O can be called with objects of a Go type.
func accepts[T any, O crclient.Object, P object.Ptr[T]]() error {
	if _, ok := any(P(nil)).(O); !ok {
		return fmt.Errorf("functions of %T cannot take a %T", *new(O), P(nil))
	}
	return nil
}

// changeOf translates a change. The first state that cannot be decoded is the error. What the others cause is
// there all the same.
func changeOf[O crclient.Object](c store.Change, decode decode[O]) (change[O], error) {
	var out change[O]
	var failure error
	get := func(e *store.Entry) (o O, ok bool) {
		o, err := decode(e)
		if err != nil && failure == nil {
			failure = err
		}
		return o, err == nil
	}
	old, after := c.Old, c.New
	if c.Deleted() {
		after = c.Last
	}
	if old != nil && after != nil && !old.SameUID(after) {
		if o, ok := get(old); ok {
			out.deleted = append(out.deleted, event.TypedDeleteEvent[O]{Object: o, DeleteStateUnknown: true})
		}
		old = nil
	}
	if after == nil {
		return out, failure
	}
	is, ok := get(after)
	switch {
	case !ok:
	case c.Deleted():
		out.deleted = append(out.deleted, event.TypedDeleteEvent[O]{Object: is, DeleteStateUnknown: c.Missed})
	case old == nil || old.Err() != nil:
		out.created = &event.TypedCreateEvent[O]{Object: is, IsInInitialList: c.Initial}
	case old == after:
		out.updated = &event.TypedUpdateEvent[O]{ObjectOld: is, ObjectNew: is}
	default:
		if was, ok := get(old); ok {
			out.updated = &event.TypedUpdateEvent[O]{ObjectOld: was, ObjectNew: is}
		} else {
			out.created = &event.TypedCreateEvent[O]{Object: is}
		}
	}
	return out, failure
}

// pass takes the events out that a predicate stops, and reports whether any is left.
func (c *change[O]) pass(predicates []predicate.TypedPredicate[O]) bool {
	for _, p := range predicates {
		kept := c.deleted[:0]
		for _, e := range c.deleted {
			if p.Delete(e) {
				kept = append(kept, e)
			}
		}
		if c.deleted = kept; c.created != nil && !p.Create(*c.created) {
			c.created = nil
		}
		if c.updated != nil && !p.Update(*c.updated) {
			c.updated = nil
		}
	}
	return len(c.deleted) > 0 || c.created != nil || c.updated != nil
}

// causeOf is the cause of requests that are added with a delay or a priority. The controller has those of all
// others.
func causeOf(c store.Change) reconcile.Cause {
	cause := reconcile.Cause{Trigger: reconcile.Updated, Key: c.Key, Count: 1}
	switch {
	case c.Deleted():
		cause.Trigger = reconcile.Deleted
	case c.Resync:
		cause.Trigger = reconcile.Resynced
	case c.Initial:
		cause.Trigger = reconcile.Listed
	case c.Old == nil:
		cause.Trigger = reconcile.Created
	}
	e := c.New
	if e == nil {
		e = c.Last
	}
	if e != nil {
		cause.ResourceVersion = e.ResourceVersion()
		cause.Kind = e.GVK()
	}
	return cause
}
