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

// Source causes reconciles: by the changes of a kind, or by events from outside the cluster. [For], [Owns],
// [Watches], [Channel] and [Requests] make one.
type Source[R comparable] struct {
	verb       string
	proto      object.Object           // names the watched kind; nil for events from outside
	asked      schema.GroupVersionKind // the kind as the caller named it; empty: by the Go type
	predicates []predicate.Predicate
	handler    handler.Handler[R] // nil for Owns until New has seen For
	from       Manager            // of the watched cluster; nil until New: that of the controller

	isFor    bool
	noFor    bool
	optional bool // the server may not serve the kind
	owns     bool
	owned    handler.Handler[R] // For: the handler of the sources that are Owns
	// outside feeds events until ctx ends or its events are exhausted.
	outside func(ctx context.Context, sink sink[R]) error

	gvk  schema.GroupVersionKind // of proto, set by New
	text string                  // set by New
}

// sink takes the events of an outside source: objects, which go to the handler, or requests.
type sink[R comparable] struct {
	object  func(object.Object)
	request func(R)
}

// For names the kind that the controller is about. An object is reconciled for each of its changes
// that passes all predicates. A controller has one For.
func For[T any, P object.Ptr[T]](predicates ...predicate.Predicate) Source[reconcile.Request] {
	return ForKind[T, P](schema.GroupVersionKind{}, predicates...)
}

// ForKind is [For] for a kind that is known at run time. T is unstructured.Unstructured, or
// metav1.PartialObjectMetadata to watch metadata only. A kind that does not agree with another T is
// an error of [New].
func ForKind[T any, P object.Ptr[T]](kind schema.GroupVersionKind, predicates ...predicate.Predicate) Source[reconcile.Request] {
	s := sourceOf[T, reconcile.Request, P]("For", kind, handler.Self(), predicates)
	s.isFor, s.owned = true, handler.OwnerKind[T, P](kind, handler.Controlling)
	return s
}

// Owns watches objects of type T. A change that passes all predicates reconciles the object that
// controls the changed one: the owner of the kind of [For] whose reference has controller: true.
func Owns[T any, P object.Ptr[T]](predicates ...predicate.Predicate) Source[reconcile.Request] {
	return OwnsKind[T, P](schema.GroupVersionKind{}, predicates...)
}

// OwnsKind is [Owns] for a kind that is known at run time, as in [ForKind].
func OwnsKind[T any, P object.Ptr[T]](kind schema.GroupVersionKind, predicates ...predicate.Predicate) Source[reconcile.Request] {
	s := sourceOf[T, reconcile.Request, P]("Owns", kind, nil, predicates)
	s.owns = true
	return s
}

// Watches watches objects of type T. A change that passes all predicates reconciles the requests
// that h returns for it.
func Watches[T any, R comparable, P object.Ptr[T]](h handler.Handler[R], predicates ...predicate.Predicate) Source[R] {
	return WatchesKind[T, R, P](schema.GroupVersionKind{}, h, predicates...)
}

// WatchesKind is [Watches] for a kind that is known at run time, as in [ForKind].
func WatchesKind[T any, R comparable, P object.Ptr[T]](kind schema.GroupVersionKind, h handler.Handler[R], predicates ...predicate.Predicate) Source[R] {
	return sourceOf[T, R, P]("Watches", kind, h, predicates)
}

// sourceOf is a source of a watched kind; an empty kind stands for that of T.
func sourceOf[T any, R comparable, P object.Ptr[T]](verb string, kind schema.GroupVersionKind, h handler.Handler[R], predicates []predicate.Predicate) Source[R] {
	proto := P(new(T))
	if !kind.Empty() {
		proto.GetObjectKind().SetGroupVersionKind(kind)
	}
	return Source[R]{verb: verb, proto: proto, asked: kind, handler: h, predicates: predicates}
}

// Channel reconciles the requests that h returns for each object received from ch, for events from
// outside the cluster. Predicates are asked by MatchGeneric. The source ends when ch is closed. While
// the controller does not run nothing is received, and a sender on ch waits.
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

// Requests reconciles the requests that feed adds, of any comparable type. feed runs on a goroutine
// of its own while the controller runs. It returns when ctx ends, or earlier when nothing more is to
// come. An error or a panic is reported, and feed is called again after one to thirty seconds.
func Requests[R comparable](feed func(ctx context.Context, add func(R)) error) Source[R] {
	s := Source[R]{verb: "Requests"}
	if feed != nil {
		s.outside = func(ctx context.Context, to sink[R]) error { return feed(ctx, to.request) }
	}
	return s
}

// WithoutFor declares that a controller whose requests are object keys has no [For] on purpose.
func WithoutFor() Source[reconcile.Request] {
	return Source[reconcile.Request]{verb: "WithoutFor", noFor: true}
}

// From watches the kind in the cluster of another manager; see flyball.Manager.Cluster. The handler maps
// objects of that cluster; the owners of [Owns] are there, too. The requests do not name the cluster: the
// handlers of controllers with several clusters put it into requests of a type of their own. New refuses it
// for a source of events from outside.
func (s Source[R]) From(m Manager) Source[R] {
	s.from = m
	return s
}

// Optional says that the server may not serve the kind: its definition may come later, or never. That is no failure
// then: no worker waits for it, and the program is ready. The source joins as soon as the kind is served, and every
// object is reconciled again; see Options.CacheSyncTimeout. Until then reads of the kind are errors that are a
// *client.NotServedError. Whatever else keeps the source from working is a failure, as for other sources. For a
// source of events from outside it changes nothing.
func (s Source[R]) Optional() Source[R] {
	s.optional = true
	return s
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

// resolve sets the kinds of the sources and the handlers of Owns, and makes all checks that need no server. It
// returns the sources that cause requests: all but WithoutFor.
func resolve[R comparable](name string, sources []Source[R], mgr Manager) ([]Source[R], error) {
	var fed []Source[R]
	var main *Source[R]
	explicit := false
	for i := range sources {
		s := sources[i]
		if s.noFor {
			explicit = true
			continue
		}
		if s.from == nil {
			s.from = mgr
		} else if s.proto == nil {
			return nil, badOption(name, s.String(), errFrom)
		}
		if err := s.resolve(s.from.Scheme()); err != nil {
			return nil, badOption(name, s.String(), err)
		}
		if s.isFor {
			if main != nil {
				return nil, badOption(name, s.String(), errTwoFor)
			}
			main = &s
		}
		fed = append(fed, s)
	}
	if _, byObject := any(*new(R)).(reconcile.Request); byObject && main == nil && !explicit {
		return nil, badOption(name, "sources", errNoFor)
	}
	if len(fed) == 0 {
		return nil, badOption(name, "sources", errNoSource)
	}
	for i := range fed {
		s := &fed[i]
		if s.owns {
			if main == nil {
				return nil, badOption(name, s.String(), errNoFor)
			}
			s.handler = main.owned
		}
		if b, ok := s.handler.(handler.Binder[R]); ok {
			if err := b.Check(s.from.Scheme()); err != nil {
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
			return fmt.Errorf("%w: nothing to receive from", errNoSource)
		}
		if s.verb == "Channel" && s.handler == nil {
			return errNilHandler
		}
		if _, only := s.handler.(interface{ TakesChangesOnly() }); only {
			return handler.ErrNoGeneric
		}
		return nil
	}
	if s.handler == nil && !s.owns {
		return errNilHandler
	}
	gvk, err := object.KindOf(scheme, s.proto)
	if err != nil {
		return err
	}
	if !s.asked.Empty() && gvk != s.asked {
		return &object.UnknownKindError{Type: fmt.Sprintf("%T", s.proto), Err: fmt.Errorf("it is %s, not %s", gvk, s.asked)}
	}
	if a, ok := s.handler.(interface{ Accepts() object.Object }); ok {
		if handled := a.Accepts(); !holds(handled, s.proto, gvk, scheme) {
			return &TypeMismatchError{Watched: s.proto, Handled: handled}
		}
	}
	s.gvk, s.text = gvk, s.verb+"("+gvk.Kind+")"
	return nil
}

// holds reports whether objects of kind gvk, watched as proto, can be decoded into handled, as far as the scheme
// tells.
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
