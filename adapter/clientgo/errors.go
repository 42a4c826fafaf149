package clientgo

import (
	"errors"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"

	packed "github.com/flyball-io/flyball/adapter/internal/indexer"
	"github.com/flyball-io/flyball/adapter/internal/objects"
)

var (
	// ErrNotStarted says that an informer was not started, so that nothing is known about its kind.
	ErrNotStarted = errors.New("the informer has not been started")
	// ErrReadOnly is the error of writes to a store: only the watch writes.
	ErrReadOnly = packed.ErrReadOnly
	// ErrStarted says that something must be set before the informer is started.
	ErrStarted = errors.New("informer has already started")
)

// TransformTypeError says that a transform returns another type than it gets. A packed object has the type of
// its kind.
type TransformTypeError = objects.TypeError

// TransformFieldError says that a transform sets a field that has no JSON. A packed object is its JSON, so it is
// rejected.
type TransformFieldError = objects.FieldError

// Readable returns nil if reads of an informer's lister answer for its whole kind. Generated listers cannot say
// that: before the first list is complete, their List is empty without an error, as in client-go. It takes every
// informer, also one of client-go, and those that [toolscache.NewTypedSharedIndexInformer] wraps.
//
// Errors: ErrNotStarted, an *informer.NotSyncedError with the progress and the cause, an *informer.UnavailableError
// while the kind is not served, and that of an informer that cannot run.
func Readable(in toolscache.SharedInformer) error {
	if packed, ok := From(in); ok {
		return packed.Err()
	}
	if !in.HasSynced() {
		return fmt.Errorf("%T has not synced", in)
	}
	return nil
}
