// Package handler turns the change of an object into the requests that it causes.
//
//	store.Change ──► Handler ── add(request) ──► queue
//
// A request may depend on what an object said before a change as well as on what it says after:
// a child that drops its owner changes the lot of the owner it had. So every handler here looks at
// the old and the new state, and at the last state of what is gone.
package handler

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/store"
)

// Handler finds the requests that an event causes. The cache shows the change by then. It must not
// change what it is shown. Calls for one watch are made one after another, on a goroutine of its own:
// a handler that takes long delays its controller and nobody else, and is named after a second.
//
// After an error or a panic it is called again with the same change, with growing delay, up to five
// minutes, for as long as that lasts; other objects of the watch are not held up by it. An object
// that cannot be decoded is the exception: it stays so until it changes.
//
// What was added before an error or a panic stays added. add is called before the handler returns,
// and on its goroutine.
type Handler[R comparable] interface {
	// Handle adds what the change of an object causes. Adding a request twice is harmless.
	Handle(ctx context.Context, c store.Change, add func(R)) error
	// HandleGeneric adds what an event from outside the cluster causes.
	HandleGeneric(ctx context.Context, o object.Object, add func(R)) error
}

// Binder is a handler that must know the kinds of the cluster before it can work. Check is called
// when the controller is made, without going to the server; Bind when the controller starts, and
// again if it failed; ctx ends when the controller stops. The handler that Bind returns is the one
// that is used.
type Binder[R comparable] interface {
	Handler[R]
	// Check reports what can be known to be wrong from the scheme alone.
	Check(s *runtime.Scheme) error
	Bind(ctx context.Context, s *runtime.Scheme, m meta.RESTMapper) (Handler[R], error)
}

// TypeError says that a handler for one Go type was given an object of another.
type TypeError struct {
	Want, Got object.Object
}

func (e *TypeError) Error() string { return fmt.Sprintf("handler for %T given a %T", e.Want, e.Got) }

// NeverBlocks reports whether a handler is one of this package that runs no function of its user.
// Controllers call such ones on the goroutine that applies changes to the cache.
func NeverBlocks[R comparable](h Handler[R]) bool {
	_, ok := h.(interface{ neverBlocks() })
	return ok
}

func (self) neverBlocks()  {}
func (owner) neverBlocks() {}

// Self requests the object that changed.
func Self() Handler[reconcile.Request] { return self{} }

type self struct{}

func (self) Handle(_ context.Context, c store.Change, add func(reconcile.Request)) error {
	add(c.Key)
	return nil
}

func (self) HandleGeneric(_ context.Context, o object.Object, add func(reconcile.Request)) error {
	add(object.KeyOf(o))
	return nil
}

// states yields the entries that a change is about, each once: the old, the new, and the last of
// what is gone.
func states(c store.Change) (entries [2]*store.Entry) {
	entries[0] = c.Old
	switch {
	case c.New != nil && c.New != c.Old:
		entries[1] = c.New
	case c.New == nil:
		entries[1] = c.Last
		if c.Last == c.Old {
			entries[1] = nil
		}
	}
	return entries
}
