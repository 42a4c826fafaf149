package informer

import (
	"cmp"
	"maps"
	"time"

	"github.com/flyball-io/flyball/internal/delta"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// Handler receives the changes of objects on a goroutine of its own. It gets the changes of one key in
// order.
//
// Pending changes of a key are merged: the handler gets the latest state, and as the old one the last state
// that it received. An object that was deleted and created anew while its change was pending is one update with
// two UIDs; OnEnded gets those in between. An object that was created and deleted while its change was pending
// is an add and a delete of its last state. Of very many such objects the oldest are dropped, and counted in
// Stats.Dropped.
//
// A callback owns its arguments. A nil callback is skipped, and costs no decoding. An object that cannot be
// decoded is rejected and reported; the handler gets its next state that can be. A callback that panics is
// reported, and the next one is called.
type Handler[T any] struct {
	// Name is for logs and errors. Empty means "handler".
	Name string
	// Resync is the period of resyncs: the handler gets every object once in each period. The first period
	// begins when the handler is added or the informer syncs. Zero means the period of the informer.
	// Negative means never.
	Resync time.Duration

	// OnAdd gets an object that is new to the handler. isInInitialList is true for the first list of the
	// informer, and for the objects that were held when the handler was added.
	OnAdd func(obj *T, isInInitialList bool)
	// OnUpdate gets an object that changed. In a resync both states are equal. Two states of one
	// resourceVersion may differ, if the server shows that version in another way, as after a change of
	// defaults.
	OnUpdate func(old, new *T)
	// OnDelete gets the last state of a deleted object, with the resourceVersion of the deletion. missed
	// reports that the watch did not see the deletion: then it is the last held state. If that cannot be
	// decoded, it is the last state that the handler got, or else the metadata alone.
	OnDelete func(last *T, missed bool)
	// OnEnded gets the incarnations of one name that ended, and that no OnUpdate or OnDelete shows. Mostly
	// they were created and deleted before the handler was called. It is called right before the callback
	// for the next state. A program that waits for the end of one object, by its UID, needs it beside those
	// two. It does not get incarnations that the watch never showed.
	OnEnded func(key object.Key, ended *object.Incarnations)
}

// AddHandler adds a handler to an informer, before or while it runs. Errors: *TypeMismatchError if T cannot
// hold the kind, and ErrStopped once the ctx of Run has ended.
//
//	reg, err := informer.AddHandler(inf, informer.Handler[corev1.Pod]{OnAdd: …})
func AddHandler[T any, P object.Ptr[T]](in *Informer, h Handler[T]) (*Registration, error) {
	if err := in.Fits(P(new(T))); err != nil {
		return nil, err
	}
	t := &typed[T, P]{in: in, h: h, held: make(map[object.Key]*store.Entry)}
	r := newRegistration(in, cmp.Or(h.Name, "handler"), t.deliver)
	r.backlog = delta.New()
	r.resync = max(cmp.Or(h.Resync, in.o.Resync), 0)
	return r, in.add(r)
}

// typed turns changes into calls of a handler. It belongs to the goroutine of its registration.
type typed[T any, P object.Ptr[T]] struct {
	in *Informer
	h  Handler[T]
	// held has the keys whose present state could not be decoded. The value is the last entry that the
	// handler got; nil for none.
	held map[object.Key]*store.Entry
}

func (t *typed[T, P]) deliver(c store.Change) {
	if shown, ok := t.held[c.Key]; ok {
		delete(t.held, c.Key)
		c = store.Change{Key: c.Key, Old: shown, New: c.Old}.Merge(c) // with the change to the state that was not shown
	}
	switch {
	case c.New == nil && c.Old == nil: // neither state was or can be shown
		if c.Last != nil {
			t.ended(c.Key, c.Unseen.Then(c.Last.UID()))
		}
	case c.New == nil:
		t.remove(c)
	case c.Old == nil:
		defer t.appear(c) // even if the first call panics
		t.ended(c.Key, c.Unseen)
	default:
		defer t.change(c)
		t.ended(c.Key, c.Unseen)
	}
}

func (t *typed[T, P]) ended(key object.Key, all *object.Incarnations) {
	if all != nil && t.h.OnEnded != nil {
		t.h.OnEnded(key, all)
	}
}

func (t *typed[T, P]) appear(c store.Change) {
	if t.h.OnAdd == nil {
		return
	}
	obj, err := t.copy(c.New)
	if err != nil {
		t.held[c.Key] = nil
		t.in.reject(c.New, err)
		return
	}
	t.h.OnAdd(obj, c.Initial)
}

func (t *typed[T, P]) change(c store.Change) {
	if t.h.OnUpdate == nil {
		return
	}
	obj, err := t.copy(c.New)
	if err != nil {
		t.held[c.Key] = c.Old
		t.in.reject(c.New, err)
		return
	}
	old, err := t.copy(c.Old)
	if err != nil { // no OnAdd showed c.Old, so it was never decoded
		t.in.reject(c.Old, err)
		if t.h.OnAdd != nil {
			t.h.OnAdd(obj, false)
		}
		return
	}
	t.h.OnUpdate(old, obj)
}

func (t *typed[T, P]) remove(c store.Change) {
	last := c.Last
	if last == nil {
		last = c.Old
	}
	ended := c.Unseen
	if !last.SameUID(c.Old) {
		var none *object.Incarnations
		ended = none.Then(c.Old.UID()).Join(ended)
	}
	if t.h.OnDelete == nil {
		t.ended(c.Key, ended)
		return
	}
	obj, err := t.copy(last)
	if err != nil {
		// The final state cannot be decoded. The last state that the handler got takes its place.
		t.in.reject(last, err)
		if obj, err = t.copy(c.Old); err != nil {
			obj = bare[T, P](last.Header())
		} else if !last.SameUID(c.Old) {
			ended = ended.Without(c.Old.UID()).Then(last.UID())
		}
	}
	defer t.h.OnDelete(obj, c.Missed)
	t.ended(c.Key, ended)
}

// bare returns an object with the metadata of a header.
func bare[T any, P object.Ptr[T]](h *object.Header) *T {
	obj := P(new(T))
	obj.SetNamespace(h.Namespace)
	obj.SetName(h.Name)
	obj.SetUID(h.UID)
	obj.SetResourceVersion(h.ResourceVersion)
	obj.SetLabels(maps.Clone(h.Labels))
	obj.SetAnnotations(maps.Clone(h.Annotations))
	return obj
}

func (t *typed[T, P]) copy(e *store.Entry) (*T, error) {
	obj := P(new(T))
	return obj, decode(e, obj)
}
