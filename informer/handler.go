package informer

import (
	"maps"
	"time"

	"github.com/flyball-io/flyball/delta"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// Handler is told what changes, on a goroutine of its own, object by object in the order in which
// keys changed. A change to a key that still waits is merged into it: the handler sees the latest
// state of each key, and as old the last state that it was shown. Deleted and made again unseen
// is one update with two UIDs; what came and went under the name in between OnEnded is told. An object that came and went unseen is an add and a delete of its
// last state, one after the other; of very many such objects that wait the oldest are dropped (see
// delta.BacklogCore), and counted in Stats.Dropped.
//
// What a callback is given is its own copy. Nil callbacks are skipped, and nothing is decoded
// for them. An object that cannot be decoded is set aside and reported; the handler gets it when
// it changes to something that can be. A callback that panics is reported, and the next one is
// called.
type Handler[T any] struct {
	// OnAdd is given an object that is new to the handler. isInInitialList is true for the first
	// list of the informer, and for what was in the store when the handler joined.
	OnAdd func(obj *T, isInInitialList bool)
	// OnUpdate is given an object that changed, or that is shown again since the handler asked for
	// resync: then both are equal. Both may have one resourceVersion and differ, where the server
	// shows that version in another way, as after a change of defaults or of a conversion.
	OnUpdate func(old, new *T)
	// OnDelete is given the last state of an object that went: with the resourceVersion of the
	// deletion, or, if missed, as it was last seen, since nobody saw it go. Where that cannot be
	// decoded it is the state that the handler was shown last; if that was not kept, as there is no
	// OnUpdate, it is the metadata alone.
	OnDelete func(last *T, missed bool)
	// OnEnded is told which objects of one name came to an end without being the old one of an
	// OnUpdate or the last one of an OnDelete: mostly since they came and went before the handler
	// looked. It is called right before the callback for what the handler is shown next. Whoever
	// waits for the end of one object, by its UID, needs it beside those two. Objects that nobody
	// saw, since a list told what had become of their name, are not among them.
	OnEnded func(key object.Key, gone *object.Incarnations)
}

// HandlerOptions says how a handler is added. The zero value works.
type HandlerOptions struct {
	// Name is used in logs and errors. Empty: "handler".
	Name string
	// Resync is the period after which the handler is shown everything again. Zero: that of the
	// informer. Negative: never. It is counted from when the handler joins or the informer syncs.
	Resync time.Duration
}

// AddHandler adds a handler to an informer, before or while it runs. It fails with a
// *TypeMismatchError if T cannot hold the kind, and with ErrStopped once the ctx of Run has ended.
//
//	reg, err := informer.AddHandler(inf, informer.Handler[corev1.Pod]{OnAdd: …}, informer.HandlerOptions{})
func AddHandler[T any, P object.Ptr[T]](in *Informer, h Handler[T], o HandlerOptions) (*Registration, error) {
	if err := in.Fits(P(new(T))); err != nil {
		return nil, err
	}
	if o.Name == "" {
		o.Name = "handler"
	}
	t := &typed[T, P]{in: in, h: h, held: make(map[object.Key]*store.Entry)}
	r := newRegistration(in, o.Name, t.deliver)
	r.backlog = delta.NewBacklog[*store.Entry]()
	switch {
	case o.Resync > 0:
		r.resync = o.Resync
	case o.Resync == 0:
		r.resync = max(in.o.Resync, 0)
	}
	return r, in.add(r)
}

// typed turns changes into calls of a handler. It belongs to the goroutine of its registration.
type typed[T any, P object.Ptr[T]] struct {
	in *Informer
	h  Handler[T]
	// held has, for each key whose present state could not be decoded, the last entry that the
	// handler was shown, or nil if it was shown none.
	held map[object.Key]*store.Entry
}

func (t *typed[T, P]) deliver(c store.Change) {
	if shown, ok := t.held[c.Key]; ok {
		delete(t.held, c.Key)
		c.Unseen = unshown(c, shown)
		c.Old = shown
		if c.Resync && shown != c.New {
			c.Resync = false
		}
	}
	switch {
	case c.New == nil && c.Old == nil: // never shown
		if c.Last != nil {
			t.ended(c.Key, c.Unseen.Then(c.Last.UID()))
		}
	case c.New == nil:
		t.remove(c)
	case c.Old == nil:
		defer t.appear(c) // whatever becomes of the first call
		t.ended(c.Key, c.Unseen)
	default:
		defer t.change(c)
		t.ended(c.Key, c.Unseen)
	}
}

func (t *typed[T, P]) ended(key object.Key, gone *object.Incarnations) {
	if gone != nil && t.h.OnEnded != nil {
		t.h.OnEnded(key, gone)
	}
}

// unshown are the incarnations that the handler is not shown, where shown is what it was shown before
// c and not c.Old, which could not be decoded.
func unshown(c store.Change, shown *store.Entry) *object.Incarnations {
	next := c.New
	if next == nil {
		next = c.Last
	}
	if c.Old == nil || shown != nil && shown.SameUID(c.Old) || next != nil && next.SameUID(c.Old) {
		return c.Unseen
	}
	var none *object.Incarnations
	return none.Then(c.Old.UID()).Join(c.Unseen)
}

func (t *typed[T, P]) appear(c store.Change) {
	if t.h.OnAdd == nil {
		return
	}
	obj, err := t.copy(c.New)
	if err != nil {
		t.held[c.Key] = nil
		t.in.aside(c.New, err)
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
		t.in.aside(c.New, err)
		return
	}
	old, err := t.copy(c.Old)
	if err != nil { // never shown: there was no OnAdd to find out
		t.in.aside(c.Old, err)
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
	gone := c.Unseen
	if !last.SameUID(c.Old) {
		var none *object.Incarnations
		gone = none.Then(c.Old.UID()).Join(gone)
	}
	if t.h.OnDelete == nil {
		t.ended(c.Key, gone)
		return
	}
	obj, err := t.copy(last)
	if err != nil {
		// The final state is of no use: the one that the handler was shown is the last known.
		t.in.aside(last, err)
		if obj, err = t.copy(c.Old); err != nil {
			obj = bare[T, P](last.Header())
		} else if !last.SameUID(c.Old) {
			gone = gone.Without(c.Old.UID()).Then(last.UID())
		}
	}
	defer t.h.OnDelete(obj, c.Missed)
	t.ended(c.Key, gone)
}

// bare is an object of which nothing but the header could be read.
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
