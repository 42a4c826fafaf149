package informer

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// ErrStopped says that an informer has run and stopped, or stops. Nothing can be added to it any more.
var ErrStopped = errors.New("informer has stopped")

// noAnswer is embedded in errors of reads that say nothing about the objects.
type noAnswer struct{}

// Is reports whether target is [object.ErrNoAnswer].
func (noAnswer) Is(target error) bool { return target == object.ErrNoAnswer }

// NotSyncedError says that the first full list of the kind is not in the store yet. An answer would be
// partial. State has the progress of the informer, and its error. It is an [object.ErrNoAnswer].
type NotSyncedError struct {
	noAnswer
	Kind      schema.GroupVersionKind
	Selection client.Selection
	State     State
}

func (e *NotSyncedError) Error() string {
	return fmt.Sprintf("%s: not synced: %s", subject(e.Kind, e.Selection), e.State)
}

// Unwrap returns the error that keeps the informer from syncing, or nil.
func (e *NotSyncedError) Unwrap() error { return e.State.Err }

// subject names a kind and a selection in the text of an error.
func subject(kind schema.GroupVersionKind, sel client.Selection) string {
	if s := sel.String(); s != "" {
		return kind.Kind + " (" + s + ")"
	}
	return kind.Kind
}

// SyncError names the informers that had not synced when the wait for them ended. It is an
// [object.ErrNoAnswer].
type SyncError struct {
	noAnswer
	Missing []*NotSyncedError
	// Cause is why the wait ended.
	Cause error
}

func (e *SyncError) Error() string {
	texts := make([]string, len(e.Missing))
	for i, m := range e.Missing {
		texts[i] = m.Error()
	}
	return e.Cause.Error() + ": " + strings.Join(texts, "; ")
}

// Unwrap returns the cause and the errors of Missing.
func (e *SyncError) Unwrap() []error {
	all := []error{e.Cause}
	for _, m := range e.Missing {
		all = append(all, m)
	}
	return all
}

// NamespaceError says that a read is of a namespace that is not watched. It is an [object.ErrNoAnswer].
type NamespaceError struct {
	noAnswer
	Kind      schema.GroupVersionKind
	Namespace string
	// Held are the watched namespaces.
	Held []string
}

func (e *NamespaceError) Error() string {
	return fmt.Sprintf("%s of namespace %q is not held, only of %s",
		e.Kind.Kind, e.Namespace, strings.Join(e.Held, ", "))
}

// TypeMismatchError says that a Go type cannot hold objects of the kind. It is an [object.ErrNoAnswer].
type TypeMismatchError struct {
	noAnswer
	Kind schema.GroupVersionKind
	// Type is the Go type.
	Type string
	// Reason is for a person.
	Reason string
}

func (e *TypeMismatchError) Error() string {
	return fmt.Sprintf("%s does not fit into %s: %s", e.Kind.Kind, e.Type, e.Reason)
}

// Problem is a problem that a person should look at: a rejected version of an object, a callback that panicked,
// a slow call, or an exceeded memory budget.
type Problem struct {
	Kind schema.GroupVersionKind
	// Key and ResourceVersion are those of the object. They may be empty or partial.
	Key             object.Key
	ResourceVersion string
	// Handler is the name of the registration whose callback panicked, or is slow; else empty.
	Handler string
	// Err is the cause: a *run.PanicError with its stack, a *BudgetError, an *OverdueError for a slow
	// call, or the reason for which the object is rejected.
	Err error
}
