package informer

import (
	"cmp"
	"fmt"
	"reflect"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/wire"
)

// Projection is the one of the struct that view points to for the kind of the informer; see
// [wire.Projection]. It is compiled once. The error is a *wire.ProjectionError, or a
// *TypeMismatchError if view is no pointer to a struct.
func (in *Informer) Projection(view any) (*wire.Projection, error) {
	kind := wire.Kind{GVK: in.o.Kind.GVK, Scheme: in.o.Scheme, MetadataOnly: in.o.Selection.MetadataOnly}
	p, err := kind.Projection(view)
	return p, in.mismatch(view, err)
}

// Project reads a view of an entry of this informer into a struct of the caller's, which then owns
// all of it, without building the object. p is one of this informer. The first time that fails for
// a version it is reported, and the error is a *store.SetAsideError; but of a kind without a Go type
// it is the *wire.DecodeError, since the view may be what is wrong. If p is for another struct it is
// a *TypeMismatchError.
func (in *Informer) Project(e *store.Entry, p *wire.Projection, view any) error {
	if e.Err() != nil {
		return in.unusable(e, e.Err())
	}
	err := in.project(e, p, view)
	if err == nil || in.blameless(err) {
		return err
	}
	return in.unusable(e, err)
}

// ProjectKey is Project of the entry of a key, and costs less than Entry and Project. Errors are those
// of both.
func (in *Informer) ProjectKey(key object.Key, p *wire.Projection, view any, opts ...ReadOption) error {
	var other error // that is not the object's fault
	err := in.look(key, even(opts), func(e *store.Entry) error {
		err := in.project(e, p, view)
		if err != nil && in.blameless(err) {
			err, other = nil, err
		}
		return err
	})
	return cmp.Or(err, other)
}

func (in *Informer) project(e *store.Entry, p *wire.Projection, view any) error {
	err := run.Safely("project", func() error {
		return e.Read(func(raw wire.Raw) error { return p.Read(raw, view) })
	})
	return in.mismatch(view, err)
}

// blameless reports whether the view is, or may be, what is wrong, and not the object.
func (in *Informer) blameless(err error) bool {
	_, mismatch := err.(*TypeMismatchError)
	_, bad := err.(*wire.DecodeError)
	return mismatch || bad && in.goType() == nil
}

// mismatch makes an error of package wire about a Go type one of this package.
func (in *Informer) mismatch(view any, err error) error {
	if wrong, ok := err.(*wire.TypeError); ok {
		return &TypeMismatchError{Kind: in.o.Kind.GVK, Type: fmt.Sprintf("%T", view), Reason: wrong.Reason}
	}
	return err
}

// IndexView adds a named index by a function of a view, like Index, but without building objects:
//
//	informer.IndexView(in, "image", func(p *podImages) []string { … })
//
// The view is the function's own. Errors: those of Index, and *wire.ProjectionError.
func IndexView[V any](to Indexable, name string, f func(*V) []string) error {
	if f == nil {
		return to.IndexEntries(name, nil)
	}
	var err error
	switch to := to.(type) {
	case *Informer:
		_, err = to.Projection(new(V))
	case *Share:
		_, err = to.Informer().Projection(new(V))
	}
	if err != nil {
		return fmt.Errorf("index %q: %w", name, err)
	}
	return to.IndexEntries(name, viewIndex(f))
}

// IndexViewFunc makes an index function of entries of one on views. t is the Go type of the kind,
// against which the view is checked, or nil. The error is a *wire.ProjectionError.
func IndexViewFunc[V any](t reflect.Type, f func(*V) []string) (store.Indexer, error) {
	if _, err := wire.CompileProjection(t, reflect.TypeFor[V]()); err != nil {
		return nil, err
	}
	return viewIndex(f), nil
}

func viewIndex[V any](f func(*V) []string) store.Indexer {
	return store.Transient(func(e *store.Entry) ([]string, error) {
		view := new(V)
		if err := e.Read(func(raw wire.Raw) error { return raw.Project(view) }); err != nil {
			return nil, err
		}
		return f(view), nil
	})
}
