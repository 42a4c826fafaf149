package objects

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
)

// statusError is an error of the server in the form of apimachinery. Beside it is the error of package client.
type statusError struct {
	*apierrors.StatusError
	cause error
}

// Unwrap returns both forms.
func (e *statusError) Unwrap() []error { return []error{e.StatusError, e.cause} }

// WithStatus is an error that has a Status, as those of package client.
type WithStatus interface {
	error
	apierrors.APIStatus
}

// StatusError gives an error that has a Status the form that programs of the peers look for: errors.As finds an
// *apierrors.StatusError in it, and the error itself. Of several, the first Status counts. Other errors stay as they are.
func StatusError(err error) error {
	s, ok := errors.AsType[WithStatus](err)
	if !ok {
		return err
	}
	switch s.(type) {
	case *apierrors.StatusError, *statusError:
		return err
	}
	return &statusError{&apierrors.StatusError{ErrStatus: s.Status()}, err}
}

// WatchError is [StatusError] for handlers of watch errors. A kind that is not served is the NotFound there that the
// peers' clients return of a list.
func WatchError(err error) error {
	is := StatusError(err)
	if _, answered := errors.AsType[WithStatus](is); answered {
		return is
	}
	if e, ok := errors.AsType[*client.NotServedError](err); ok {
		return NotFound(e.Resource.GroupResource(), "", err)
	}
	return is
}

// NotFound is an apierrors.NotFound beside its cause. An error that has the form of apimachinery already stays.
func NotFound(of schema.GroupResource, name string, cause error) error {
	if _, done := errors.AsType[*apierrors.StatusError](cause); done {
		return cause
	}
	return &statusError{apierrors.NewNotFound(of, name), cause}
}
