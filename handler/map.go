package handler

import (
	"context"
	"errors"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// Map requests what f returns for an object. f is called for the old state and for the new state of
// a change, and for an object from outside the cluster. f owns the object. It should read from a
// cache, and must not assume that the object still exists. ctx ends when the controller stops.
//
// What f returns beside an error is requested. Controllers call the handler again after an error;
// see [Handler]. So f returns the errors of its reads, such as that of a cache that has not synced.
// If one state cannot be decoded, or f fails or panics on it, f is still called for the other state.
// A nil f makes a nil Handler.
func Map[T any, R comparable, P object.Ptr[T]](f func(ctx context.Context, obj P) ([]R, error)) Handler[R] {
	if f == nil {
		return nil
	}
	return mapped[T, R, P]{f}
}

type mapped[T any, R comparable, P object.Ptr[T]] struct {
	f func(ctx context.Context, obj P) ([]R, error)
}

// addAll adds the requests also when there is an error, which it returns.
func addAll[R comparable](requests []R, err error, add func(R)) error {
	for _, r := range requests {
		add(r)
	}
	return err
}

func (m mapped[T, R, P]) Handle(ctx context.Context, c store.Change, add func(R)) error {
	return eachState(c, func(e *store.Entry) error {
		p := P(new(T))
		if err := e.Decode(p); err != nil {
			return err
		}
		requests, err := m.f(ctx, p)
		return addAll(requests, err, add)
	})
}

// eachState calls f with the states of a change. An error or a panic for one does not skip the other.
func eachState(c store.Change, f func(*store.Entry) error) error {
	var errs []error
	for _, e := range states(c) {
		if e != nil {
			errs = append(errs, run.Safely("map", func() error { return f(e) }))
		}
	}
	return errors.Join(errs...)
}

func (m mapped[T, R, P]) HandleGeneric(ctx context.Context, o object.Object, add func(R)) error {
	p, ok := o.(P)
	if !ok {
		return &TypeError{Want: P(new(T)), Got: o}
	}
	requests, err := m.f(ctx, p)
	return addAll(requests, err, add)
}

// Accepts is the Go type that the handler decodes into. A watch of another type is refused when the
// controller is made.
func (m mapped[T, R, P]) Accepts() object.Object { return P(new(T)) }

// MapHeader is [Map] for a function of metadata. Nothing is decoded. The header is a copy that belongs
// to f. An object that was rejected has a header too, with its key at least.
func MapHeader[R comparable](f func(ctx context.Context, h *object.Header) ([]R, error)) Handler[R] {
	if f == nil {
		return nil
	}
	return headers[R]{f}
}

type headers[R comparable] struct {
	f func(ctx context.Context, h *object.Header) ([]R, error)
}

func (m headers[R]) Handle(ctx context.Context, c store.Change, add func(R)) error {
	return eachState(c, func(e *store.Entry) error {
		requests, err := m.f(ctx, e.Header())
		return addAll(requests, err, add)
	})
}

func (m headers[R]) HandleGeneric(ctx context.Context, o object.Object, add func(R)) error {
	h := headerOf(o)
	requests, err := m.f(ctx, &h)
	return addAll(requests, err, add)
}

func headerOf(o object.Object) object.Header {
	h := object.Header{
		Key:             object.KeyOf(o),
		UID:             o.GetUID(),
		ResourceVersion: o.GetResourceVersion(),
		Generation:      o.GetGeneration(),
		Labels:          o.GetLabels(),
		Annotations:     o.GetAnnotations(),
	}
	if t := o.GetDeletionTimestamp(); t != nil {
		h.DeletionTimestamp = t.Time
	}
	for _, ref := range o.GetOwnerReferences() {
		h.Owners = append(h.Owners, object.Owner{
			APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: ref.UID,
			Controller: ref.Controller != nil && *ref.Controller,
		})
	}
	return h
}
