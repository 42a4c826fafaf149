package ctrl

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/store"
)

var errNoMetadata = errors.New("its Go type has no metadata")

// statusError is an error of the server in the form of apimachinery. Beside it is the error of package client.
type statusError struct {
	*apierrors.StatusError
	cause error
}

// Unwrap returns both forms.
func (e *statusError) Unwrap() []error { return []error{e.StatusError, e.cause} }

// withStatus is an error that has a Status.
type withStatus interface {
	error
	apierrors.APIStatus
}

// translate gives an error the form that programs of controller-runtime look for.
func translate(err error) error {
	if _, done := errors.AsType[*apierrors.StatusError](err); done || err == nil {
		return err
	}
	if e, ok := errors.AsType[*client.MissingError](err); ok { // programs of controller-runtime ask for NotFound
		return &statusError{apierrors.NewNotFound(e.Object, e.Name), err}
	}
	if s, ok := errors.AsType[withStatus](err); ok {
		return &statusError{&apierrors.StatusError{ErrStatus: s.Status()}, err}
	}
	if e, ok := errors.AsType[*store.UnknownIndexError](err); ok {
		return fmt.Errorf("%w: the cache answers lists of this kind, and has no index %q: declare it by IndexField of ctrl.NewCache, or by cache.IndexField", err, e.Index)
	}
	return err
}
