package handler

import (
	"context"
	"errors"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// MapErr requests what f says of an object: of the old state and of the new one. f owns the object
// it is given. Reads should go to a cache; ctx ends when the controller stops. f must not assume that
// the object still exists.
//
// If f fails, as a read of a cache that has not synced does, its error is returned: controllers call
// the handler again; see [Handler]. What f returned beside the error is requested. If one state cannot
// be decoded, or f fails or panics on it, f is still called for the other state.
func MapErr[T any, R comparable, P object.Ptr[T]](f func(ctx context.Context, obj P) ([]R, error)) Handler[R] {
	return mapped[T, R, P]{f}
}

// Map is [MapErr] for a function that cannot fail. One that reads anything can: it would have to keep
// the error to itself, and what it does not request then nobody does.
func Map[T any, R comparable, P object.Ptr[T]](f func(ctx context.Context, obj P) []R) Handler[R] {
	if f == nil {
		return mapped[T, R, P]{}
	}
	return mapped[T, R, P]{func(ctx context.Context, obj P) ([]R, error) { return f(ctx, obj), nil }}
}

type mapped[T any, R comparable, P object.Ptr[T]] struct {
	f func(ctx context.Context, obj P) ([]R, error)
}

// addAll adds what a function returned.
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

// eachState calls f with every state that a change is about, whatever becomes of the others.
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

// Accepts is the Go type that the handler decodes into, so that a watch of another one can be
// refused when the controller is made.
func (m mapped[T, R, P]) Accepts() object.Object { return P(new(T)) }

// MapHeaderErr requests what f says of the header of an object: of the old state and of the new one.
// Nothing is decoded. The header is a copy for f. An object that was set aside has a
// header too, with its key at least. Errors are those of [MapErr].
func MapHeaderErr[R comparable](f func(ctx context.Context, h *object.Header) ([]R, error)) Handler[R] {
	return headers[R]{f}
}

// MapHeader is [MapHeaderErr] for a function that cannot fail.
func MapHeader[R comparable](f func(ctx context.Context, h *object.Header) []R) Handler[R] {
	if f == nil {
		return headers[R]{}
	}
	return headers[R]{func(ctx context.Context, h *object.Header) ([]R, error) { return f(ctx, h), nil }}
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
