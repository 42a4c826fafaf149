package informer

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/object"
)

var (
	// ErrStopped says that an informer has run and stopped: nothing can be added to it any more.
	ErrStopped = errors.New("informer has stopped")
	// ErrRunTwice says that Run was called again.
	ErrRunTwice = errors.New("informer was already run")
	// ErrClosed says that a handle was closed before.
	ErrClosed = errors.New("handle is closed")
)

// NotSyncedError says that a read was refused since the first full list of the kind is not in
// the store yet: an answer would be empty or partial. State says how far the informer is, and
// what keeps it.
type NotSyncedError struct {
	Kind  schema.GroupVersionKind
	State State
}

func (e *NotSyncedError) Error() string {
	return fmt.Sprintf("%s: not synced: %s", e.Kind.Kind, e.State)
}

// Unwrap returns what keeps the informer from syncing, if anything is known.
func (e *NotSyncedError) Unwrap() error { return e.State.Err }

// TypeMismatchError says that a Go type cannot hold objects of the kind.
type TypeMismatchError struct {
	Kind schema.GroupVersionKind
	Type string
}

func (e *TypeMismatchError) Error() string {
	return fmt.Sprintf("%s: objects of this kind do not fit into %s", e.Kind, e.Type)
}

// AsideError says that one object of a kind cannot be used, since it cannot be decoded or since a
// transform or an index failed on it. The others of its kind are not affected; it comes back when
// it changes to something usable.
type AsideError struct {
	Kind            schema.GroupVersionKind
	Key             object.Key
	ResourceVersion string
	Err             error
}

func (e *AsideError) Error() string {
	return fmt.Sprintf("%s %s at version %s: set aside: %v", e.Kind.Kind, e.Key, e.ResourceVersion, e.Err)
}

func (e *AsideError) Unwrap() error { return e.Err }

// PanicError says that a source or handler panicked on one change. It wraps the *run.PanicError,
// which has the stack.
type PanicError struct {
	Kind schema.GroupVersionKind
	Key  object.Key
	// Name is the name of the registration.
	Name string
	Err  error
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("%s %s: %v", e.Kind.Kind, e.Key, e.Err)
}

func (e *PanicError) Unwrap() error { return e.Err }
