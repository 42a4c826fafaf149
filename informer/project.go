package informer

import (
	"cmp"
	"fmt"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// CheckView returns the error of [Informer.Project] for a view that does not fit the kind.
func (in *Informer) CheckView(view any) error {
	_, err := in.projection(view)
	return err
}

// projection returns the projection of the kind onto the struct that view points to. It is compiled once.
func (in *Informer) projection(view any) (*wire.Projection, error) {
	p, err := in.kind.Projection(view)
	return p, in.mismatch(view, err)
}

// Project reads a view of an entry of this informer into a struct of the caller, who owns it. It builds no
// object. See [wire.Raw.Project] for what a view may have.
//
// Errors: *store.RejectedError; the first one of each version is reported. For a kind without a Go type it is a
// *wire.DecodeError, since the view may be wrong. A view that does not fit the kind is a *wire.ProjectionError. One
// that is not a pointer to a struct is a *TypeMismatchError.
func (in *Informer) Project(e *store.Entry, view any) error {
	p, err := in.projection(view)
	if err != nil {
		return err
	}
	if e.Err() != nil {
		return in.rejectedError(e, e.Err())
	}
	err = in.project(e, p, view)
	if err == nil || in.blameless(err) {
		return err
	}
	return in.rejectedError(e, err)
}

// ProjectKey projects the entry of a key. It costs less than Entry and Project. Errors are those of both.
func (in *Informer) ProjectKey(key object.Key, view any, opts ...ReadOption) error {
	p, err := in.projection(view)
	if err != nil {
		return err
	}
	var other error // an error of the view
	err = in.look(key, even(opts), func(e *store.Entry) error {
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

// blameless reports whether the error may be due to the view instead of the object.
func (in *Informer) blameless(err error) bool {
	_, mismatch := err.(*TypeMismatchError)
	_, bad := err.(*wire.DecodeError)
	return mismatch || bad && goType(in.kind) == nil
}

// mismatch turns a *wire.TypeError into a *TypeMismatchError. It returns any other error unchanged.
func (in *Informer) mismatch(view any, err error) error {
	if wrong, ok := err.(*wire.TypeError); ok {
		return &TypeMismatchError{Kind: in.o.Kind.GVK, Type: fmt.Sprintf("%T", view), Reason: wrong.Reason}
	}
	return err
}
