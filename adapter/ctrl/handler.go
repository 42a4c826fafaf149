package ctrl

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	crhandler "sigs.k8s.io/controller-runtime/pkg/handler"
	crpredicate "sigs.k8s.io/controller-runtime/pkg/predicate"
	crreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/predicate"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/store"
)

// For is controller.For with predicates of controller-runtime: it names the kind that the controller is about.
func For[T any, P object.Ptr[T]](predicates ...crpredicate.Predicate) controller.Source[reconcile.Request] {
	return controller.For[T, P](all[T, crclient.Object, P](predicates)...)
}

// Owns is controller.Owns with predicates of controller-runtime: a change of a T reconciles the object of [For]
// that controls it.
func Owns[T any, P object.Ptr[T]](predicates ...crpredicate.Predicate) controller.Source[reconcile.Request] {
	return controller.Owns[T, P](all[T, crclient.Object, P](predicates)...)
}

// Watches watches the objects of type T. h is an EventHandler of controller-runtime, or a TypedEventHandler of
// *T, and predicates are of the same type:
//
//	ctrl.Watches[corev1.ConfigMap](handler.EnqueueRequestsFromMapFunc(r.sitesOf), predicate.LabelChangedPredicate{})
//
// The queue that h gets is a PriorityQueue: priorities, delays and the rate limit are those of the controller.
// The end of one object and the beginning of another of its name are a Delete and a Create, never one Update.
func Watches[T any, O crclient.Object, P object.Ptr[T]](h crhandler.TypedEventHandler[O, crreconcile.Request], predicates ...crpredicate.TypedPredicate[O]) controller.Source[reconcile.Request] {
	return watches[T, O, crreconcile.Request, reconcile.Request, P](schema.GroupVersionKind{}, h, asKey, predicates)
}

// WatchesKind is [Watches] for a kind that is known at run time. T is unstructured.Unstructured, or
// metav1.PartialObjectMetadata to watch metadata only.
func WatchesKind[T any, O crclient.Object, P object.Ptr[T]](kind schema.GroupVersionKind, h crhandler.TypedEventHandler[O, crreconcile.Request], predicates ...crpredicate.TypedPredicate[O]) controller.Source[reconcile.Request] {
	return watches[T, O, crreconcile.Request, reconcile.Request, P](kind, h, asKey, predicates)
}

// TypedWatches is [Watches] for requests of another type, as a [TypedReconciler] takes them.
func TypedWatches[T any, O crclient.Object, R comparable, P object.Ptr[T]](h crhandler.TypedEventHandler[O, R], predicates ...crpredicate.TypedPredicate[O]) controller.Source[R] {
	return watches[T, O, R, R, P](schema.GroupVersionKind{}, h, same[R], predicates)
}

func watches[T any, O crclient.Object, C, R comparable, P object.Ptr[T]](kind schema.GroupVersionKind, h crhandler.TypedEventHandler[O, C], request func(C) R, predicates []crpredicate.TypedPredicate[O]) controller.Source[R] {
	if h == nil {
		return controller.WatchesKind[T, R, P](kind, nil)
	}
	if slices.ContainsFunc(predicates, isNil[O]) {
		return controller.WatchesKind[T, R, P](kind, handlerOf[T, O, C, R, P]{}, nil) // the controller refuses it
	}
	return controller.WatchesKind[T, R, P](kind, handlerOf[T, O, C, R, P]{h, request, predicates})
}

func isNil[O any](p crpredicate.TypedPredicate[O]) bool { return p == nil }

// handlerOf implements handler.Handler by a handler of controller-runtime. It asks the predicates, so that they
// see the objects that the handler gets, and decide about each event.
type handlerOf[T any, O crclient.Object, C, R comparable, P object.Ptr[T]] struct {
	of         crhandler.TypedEventHandler[O, C]
	request    func(C) R
	predicates []crpredicate.TypedPredicate[O]
}

// Accepts is the Go type that the handler takes.
func (h handlerOf[T, O, C, R, P]) Accepts() object.Object {
	if t := reflect.TypeFor[O](); t.Kind() == reflect.Pointer { // the type that the handler names
		return reflect.New(t.Elem()).Interface().(object.Object)
	}
	return P(new(T))
}

// Handle implements handler.Handler.
func (h handlerOf[T, O, C, R, P]) Handle(ctx context.Context, c store.Change, add func(R)) error {
	if err := accepts[T, O, P](); err != nil {
		return err
	}
	events, err := changeOf(c, decodes[T, O, P])
	if !c.Reset && !events.pass(h.predicates) {
		return err
	}
	q := newQueue(ctx, h.request, causeOf(c), add)
	q.low = c.Initial || c.Resync
	defer q.close()
	for _, e := range events.deleted {
		h.of.Delete(ctx, e, q)
	}
	if events.created != nil {
		h.of.Create(ctx, *events.created, q)
	}
	if events.updated != nil {
		h.of.Update(ctx, *events.updated, q)
	}
	return err
}

// HandleGeneric implements handler.Handler.
func (h handlerOf[T, O, C, R, P]) HandleGeneric(ctx context.Context, o object.Object, add func(R)) error {
	obj, ok := o.(O)
	if !ok {
		return &handler.TypeError{Want: P(new(T)), Got: o}
	}
	e := event.TypedGenericEvent[O]{Object: obj}
	for _, p := range h.predicates {
		if !p.Generic(e) {
			return nil
		}
	}
	cause := reconcile.Cause{Trigger: reconcile.Generic, Key: object.KeyOf(o), ResourceVersion: o.GetResourceVersion(), Count: 1}
	q := newQueue(ctx, h.request, cause, add)
	defer q.close()
	h.of.Generic(ctx, e, q)
	return nil
}

// Predicate makes a predicate of controller-runtime one of Flyball, for a source of type T:
//
//	controller.For[webv1.Website](ctrl.Predicate[webv1.Website](predicate.GenerationChangedPredicate{}))
//
// It decodes the objects of each change. The predicates of Flyball do not: predicate.GenerationChanged and
// others compare digests. A nil p makes a nil predicate, which controller.New refuses.
func Predicate[T any, O crclient.Object, P object.Ptr[T]](p crpredicate.TypedPredicate[O]) predicate.Predicate {
	if p == nil {
		return nil
	}
	return predicateOf[T, O, P]{p}
}

func all[T any, O crclient.Object, P object.Ptr[T]](of []crpredicate.TypedPredicate[O]) []predicate.Predicate {
	var out []predicate.Predicate
	for _, p := range of {
		out = append(out, Predicate[T, O, P](p))
	}
	return out
}

// predicateOf implements predicate.Predicate. A change passes if one of its events does.
type predicateOf[T any, O crclient.Object, P object.Ptr[T]] struct {
	of crpredicate.TypedPredicate[O]
}

// Match implements predicate.Predicate.
func (p predicateOf[T, O, P]) Match(c store.Change) (bool, error) {
	if c.Reset {
		return true, nil
	}
	if err := accepts[T, O, P](); err != nil {
		return true, err
	}
	events, err := changeOf(c, decodes[T, O, P])
	if err != nil {
		return true, err
	}
	return events.pass([]crpredicate.TypedPredicate[O]{p.of}), nil
}

// MatchGeneric implements predicate.Predicate.
func (p predicateOf[T, O, P]) MatchGeneric(o object.Object) (bool, error) {
	obj, ok := o.(O)
	if !ok {
		return true, fmt.Errorf("a predicate of %T is asked about a %T", *new(O), o)
	}
	return p.of.Generic(event.TypedGenericEvent[O]{Object: obj}), nil
}
