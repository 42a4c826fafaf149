package controller

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/predicate"
	"github.com/flyball-io/flyball/reconcile"
)

// Source is what causes reconciles: the changes of a kind of object, or events from outside the
// cluster. Make one with For, Owns, Watches, Channel or Requests.
type Source[R comparable] struct {
	verb       string
	proto      object.Object // the kind that is watched; nil for events from outside
	predicates []predicate.Predicate
	handler    handler.Handler[R]

	isFor  bool
	noFor  bool
	ownsBy func(owner object.Object) handler.Handler[R] // the handler, once the kind of For is known
	// outside feeds events until ctx ends or there are no more.
	outside func(ctx context.Context, sink sink[R]) error

	gvk  schema.GroupVersionKind // of proto, set by New
	text string                  // set by New
}

// sink takes what an outside source has: an object for the handler, or a request as it is.
type sink[R comparable] struct {
	object  func(object.Object)
	request func(R)
}

// For says which kind of object the controller is about: one is reconciled for each change that
// passes all predicates. It is given once.
func For[T any, P object.Ptr[T]](predicates ...predicate.Predicate) Source[reconcile.Request] {
	return ForObject(P(new(T)), predicates...)
}

// ForObject is [For] for a kind that is named by a value: unstructured or metadata-only objects
// name it by their apiVersion and kind.
func ForObject(proto object.Object, predicates ...predicate.Predicate) Source[reconcile.Request] {
	return Source[reconcile.Request]{verb: "For", proto: proto, isFor: true, handler: handler.Self(), predicates: predicates}
}

// Owns reconciles the object of the kind of For that controls an object of type T, by its owner
// reference with controller: true, whenever the owned object changes.
func Owns[T any, P object.Ptr[T]](predicates ...predicate.Predicate) Source[reconcile.Request] {
	return OwnsObject(P(new(T)), predicates...)
}

// OwnsObject is [Owns] for a kind that is named by a value, as in [ForObject].
func OwnsObject(proto object.Object, predicates ...predicate.Predicate) Source[reconcile.Request] {
	return Source[reconcile.Request]{
		verb: "Owns", proto: proto, predicates: predicates,
		ownsBy: func(owner object.Object) handler.Handler[reconcile.Request] {
			return handler.OwnerOf(owner, handler.Controlling)
		},
	}
}

// Watches reconciles what h says of each change of an object of type T that passes all
// predicates.
func Watches[T any, R comparable, P object.Ptr[T]](h handler.Handler[R], predicates ...predicate.Predicate) Source[R] {
	return WatchesObject(P(new(T)), h, predicates...)
}

// WatchesObject is [Watches] for a kind that is named by a value, as in [ForObject].
func WatchesObject[R comparable](proto object.Object, h handler.Handler[R], predicates ...predicate.Predicate) Source[R] {
	return Source[R]{verb: "Watches", proto: proto, handler: h, predicates: predicates}
}

// Channel reconciles what h says of each object that comes through ch, from outside the cluster,
// and passes all predicates (their Generic part). The source is at its end when ch is closed. A
// program that has nobody receiving, as the controller does not run, waits in its send.
func Channel[T any, R comparable, P object.Ptr[T]](ch <-chan P, h handler.Handler[R], predicates ...predicate.Predicate) Source[R] {
	s := Source[R]{verb: "Channel", handler: h, predicates: predicates, text: fmt.Sprintf("Channel(%T)", P(nil))}
	if ch == nil {
		return s
	}
	s.outside = func(ctx context.Context, to sink[R]) error {
		for {
			select {
			case p, open := <-ch:
				if !open {
					return nil
				}
				if p != nil {
					to.object(p)
				}
			case <-ctx.Done():
				return nil
			}
		}
	}
	return s
}

// Requests reconciles what feed adds, which may be anything that can be compared. feed runs on a
// goroutine of its own while the controller runs and returns when ctx ends, or before that when
// it has nothing more to add. An error or a panic is reported, and feed is called again after a
// while.
func Requests[R comparable](feed func(ctx context.Context, add func(R)) error) Source[R] {
	s := Source[R]{verb: "Requests"}
	if feed != nil {
		s.outside = func(ctx context.Context, to sink[R]) error { return feed(ctx, to.request) }
	}
	return s
}

// WithoutFor says that a controller whose requests are object keys has no For on purpose.
func WithoutFor() Source[reconcile.Request] {
	return Source[reconcile.Request]{verb: "WithoutFor", noFor: true}
}

// String is the source as errors and logs name it: "Watches(Pod)".
func (s *Source[R]) String() string {
	switch {
	case s.text != "":
		return s.text
	case s.proto != nil:
		return fmt.Sprintf("%s(%T)", s.verb, s.proto)
	}
	return s.verb
}

// resolve finds the kind of each source and the handler of those that depend on For, and checks
// what can be checked without a server. It returns the sources that feed the controller.
func resolve[R comparable](name string, sources []Source[R], scheme *runtime.Scheme) ([]Source[R], error) {
	var fed []Source[R]
	var main *Source[R]
	explicit := false
	for i := range sources {
		s := sources[i]
		if s.noFor {
			explicit = true
			continue
		}
		if err := s.resolve(scheme); err != nil {
			return nil, badOption(name, s.String(), err)
		}
		if s.isFor {
			if main != nil {
				return nil, badOption(name, s.String(), ErrTwoFor)
			}
			main = &s
		}
		fed = append(fed, s)
	}
	if _, byObject := any(*new(R)).(reconcile.Request); byObject && main == nil && !explicit {
		return nil, badOption(name, "sources", ErrNoFor)
	}
	if len(fed) == 0 {
		return nil, badOption(name, "sources", ErrNoSource)
	}
	for i := range fed {
		s := &fed[i]
		if s.ownsBy != nil {
			if main == nil {
				return nil, badOption(name, s.String(), ErrNoFor)
			}
			s.handler = s.ownsBy(main.proto)
		}
		if b, ok := s.handler.(handler.Binder[R]); ok {
			if err := b.Check(scheme); err != nil {
				return nil, badOption(name, s.String(), err)
			}
		}
	}
	return fed, nil
}

func (s *Source[R]) resolve(scheme *runtime.Scheme) error {
	for i, p := range s.predicates {
		if p == nil {
			return fmt.Errorf("predicate %d is nil", i)
		}
	}
	if s.proto == nil {
		if s.outside == nil {
			return fmt.Errorf("%w: nothing to receive from", ErrNoSource)
		}
		if s.verb == "Channel" && s.handler == nil {
			return errNilHandler
		}
		return nil
	}
	if s.handler == nil && s.ownsBy == nil {
		return errNilHandler
	}
	gvk, err := object.KindOf(scheme, s.proto)
	if err != nil {
		return err
	}
	if a, ok := s.handler.(interface{ Accepts() object.Object }); ok {
		if handled := a.Accepts(); !holds(handled, s.proto, gvk, scheme) {
			return &TypeMismatchError{Watched: s.proto, Handled: handled}
		}
	}
	s.gvk, s.text = gvk, s.verb+"("+gvk.Kind+")"
	return nil
}

// holds reports whether what is watched as proto, of kind gvk, can be decoded into handled, as far
// as can be told from the scheme.
func holds(handled, proto object.Object, gvk schema.GroupVersionKind, scheme *runtime.Scheme) bool {
	switch _, metadata := proto.(*metav1.PartialObjectMetadata); {
	case object.Untyped(handled):
		return true
	case metadata:
		return false
	}
	kinds, _, err := scheme.ObjectKinds(handled)
	return err != nil && object.Untyped(proto) || slices.Contains(kinds, gvk)
}
