package informer

import (
	"time"

	"github.com/flyball-io/flyball/object"
)

// Handler is told what changes, on a goroutine of its own, object by object in the order in which
// keys changed. A change to a key that still waits is merged into it: the handler sees the latest
// state of each key, and as old the last state that it was shown. Deleted and made again unseen
// is one update with two UIDs; an object that came and went unseen is nothing at all.
//
// What a callback is given is its own copy. Nil callbacks are skipped, and nothing is decoded
// for them. An object that cannot be decoded is set aside and reported; the handler gets it when
// it changes to something that can be. A callback that panics is reported, and the next one is
// called.
type Handler[T any] struct {
	// OnAdd is given an object that is new to the handler. isInInitialList is true for the first
	// list of the informer, and for what was in the store when the handler joined.
	OnAdd func(obj *T, isInInitialList bool)
	// OnUpdate is given an object that changed, or, if both have one resourceVersion, that is
	// shown again since the handler asked for resync.
	OnUpdate func(old, new *T)
	// OnDelete is given the last state of an object that went: with the resourceVersion of the
	// deletion, or, if missed, as it was last seen, since nobody saw it go.
	OnDelete func(last *T, missed bool)
}

// HandlerOptions says how a handler is added. The zero value works.
type HandlerOptions struct {
	// Name is used in logs and errors. Empty: "handler".
	Name string
	// Resync is the period after which the handler is shown everything again. Zero: that of the
	// informer. Negative: never. It is counted from the time the handler joins.
	Resync time.Duration
}

// Handle adds a handler to an informer, before or while it runs. It fails with a
// *TypeMismatchError if T cannot hold the kind, and with ErrStopped after the informer stopped.
//
//	reg, err := informer.Handle(inf, informer.Handler[corev1.Pod]{OnAdd: …}, informer.HandlerOptions{})
func Handle[T any, P object.Ptr[T]](in *Informer, h Handler[T], o HandlerOptions) (*Registration, error) {
	panic("soon")
}
