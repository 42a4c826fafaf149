// Package handler turns the change of an object into the requests that it causes.
//
//	store.Change ──► Handler ── add(request) ──► queue
//
//	controller.Watches[corev1.Pod](handler.Map(servicesOf))              // a function of the object
//	controller.Watches[corev1.Pod](handler.Owner[appsv1.ReplicaSet](handler.Any))
//
// [Map] and [MapHeader] take a function of each state of the object, [Func] a function of the change. They
// return requests and an error; after an error they are called again. [Self] requests the object itself.
//
// A request may depend on the state before the change: if a child drops its owner, that owner needs a
// reconcile. So these handlers look at the old and at the new state, and at the last state of a deleted object.
package handler

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/internal/inline"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/store"
)

// Handler adds the requests that an event causes. The cache shows the change before the call. The handler must not
// modify its arguments. Calls for one watch are made one after another. A handler that calls a function of its
// user has a goroutine of its own. Those that call none, [Self] and [Owner], run on the goroutine that applied the
// change, if no predicate of the watch may block. A slow handler delays its own controller alone, and is reported
// after a second.
//
// After an error or a panic the handler is called again with the same change until it succeeds, after a delay
// that grows to five minutes. Other objects of the watch do not wait for that. It is not called again for an
// object that cannot be decoded, until that changes.
//
// Requests that were added before an error or a panic stay added. The handler calls add before it returns, on its
// own goroutine.
type Handler[R comparable] interface {
	// Handle adds the requests that the change of an object causes. Adding a request twice is harmless.
	Handle(ctx context.Context, c store.Change, add func(R)) error
	// HandleGeneric adds the requests that an object from outside the cluster causes.
	HandleGeneric(ctx context.Context, o object.Object, add func(R)) error
}

// Binder is a handler that must know the kinds of the cluster before it can work. The controller uses the handler
// that Bind returns in its place.
type Binder[R comparable] interface {
	Handler[R]
	// Check reports errors that the scheme alone shows. It is called when the controller is made, and sends
	// nothing to the server.
	Check(s *runtime.Scheme) error
	// Bind is called when the controller starts, and again after an error. ctx ends when the controller stops.
	Bind(ctx context.Context, s *runtime.Scheme, m meta.RESTMapper) (Handler[R], error)
}

// TypeError says that a handler for one Go type was given an object of another one.
type TypeError struct {
	Want, Got object.Object
}

func (e *TypeError) Error() string { return fmt.Sprintf("handler for %T given a %T", e.Want, e.Got) }

// NeverBlocks implements inline.Marker.
func (self) NeverBlocks(inline.Mark) bool { return true }

// NeverBlocks implements inline.Marker. It is of the handler that Bind returns.
func (owner) NeverBlocks(inline.Mark) bool { return true }

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

// states are the distinct entries of a change: the old one, and the new one or, of a deleted object, the last one.
// Elements may be nil.
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
