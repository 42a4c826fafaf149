package handler

import (
	"context"
	"errors"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// Map requests what f says of an object: of the old state and of the new one. f owns the object
// it is given. It must not block, so reads should go to a cache; ctx ends when the controller
// stops. f must not assume that the object still exists.
//
// If one state cannot be decoded, or f panics on it, that is an error, and f is still called for the
// other state.
func Map[T any, R comparable, P object.Ptr[T]](f func(ctx context.Context, obj P) []R) Handler[R] {
	return mapped[T, R, P]{f}
}

type mapped[T any, R comparable, P object.Ptr[T]] struct {
	f func(ctx context.Context, obj P) []R
}

func (m mapped[T, R, P]) Handle(ctx context.Context, c store.Change, add func(R)) error {
	return eachState(c, func(e *store.Entry) error {
		p := P(new(T))
		if err := e.Decode(p); err != nil {
			return err
		}
		for _, r := range m.f(ctx, p) {
			add(r)
		}
		return nil
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
	for _, r := range m.f(ctx, p) {
		add(r)
	}
	return nil
}

// Accepts is the Go type that the handler decodes into, so that a watch of another one can be
// refused when the controller is made.
func (m mapped[T, R, P]) Accepts() object.Object { return P(new(T)) }

// MapHeader requests what f says of the header of an object: of the old state and of the new one.
// Nothing is decoded. The header is shared: f only reads it. An object that was set aside has a
// header too, with its key at least. If f panics on one state it is still called for the other.
func MapHeader[R comparable](f func(ctx context.Context, h *object.Header) []R) Handler[R] {
	return headers[R]{f}
}

type headers[R comparable] struct {
	f func(ctx context.Context, h *object.Header) []R
}

func (m headers[R]) Handle(ctx context.Context, c store.Change, add func(R)) error {
	return eachState(c, func(e *store.Entry) error {
		for _, r := range m.f(ctx, e.Header()) {
			add(r)
		}
		return nil
	})
}

func (m headers[R]) HandleGeneric(ctx context.Context, o object.Object, add func(R)) error {
	h := headerOf(o)
	for _, r := range m.f(ctx, &h) {
		add(r)
	}
	return nil
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
