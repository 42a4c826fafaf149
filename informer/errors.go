package informer

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

var (
	// ErrStopped says that an informer has run and stopped, or stops: nothing can be added to it any
	// more.
	ErrStopped = errors.New("informer has stopped")
	// ErrClosed is the cause with which an informer ends whose last share was closed.
	ErrClosed = errors.New("last share is closed")
)

// NotSyncedError says that a read was refused since the first full list of the kind is not in
// the store yet: an answer would be empty or partial. State says how far the informer is, and
// what keeps it. It is an [object.ErrNoAnswer].
type NotSyncedError struct {
	Kind      schema.GroupVersionKind
	Selection client.Selection
	State     State
}

func (e *NotSyncedError) Error() string {
	subject := e.Kind.Kind
	if s := e.Selection.String(); s != "" {
		subject += " (" + s + ")"
	}
	return fmt.Sprintf("%s: not synced: %s", subject, e.State)
}

// Unwrap returns what keeps the informer from syncing, if anything is known.
func (e *NotSyncedError) Unwrap() error { return e.State.Err }

// SyncError says which informers had not synced when the time to wait for them was over.
type SyncError struct {
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

// Unwrap returns the cause and what is missing.
func (e *SyncError) Unwrap() []error {
	all := []error{e.Cause}
	for _, m := range e.Missing {
		all = append(all, m)
	}
	return all
}

// NamespaceError says that a namespace was read that is not held: an answer would be empty although
// there may be objects.
type NamespaceError struct {
	Kind      schema.GroupVersionKind
	Namespace string
	// Held are those that are.
	Held []string
}

func (e *NamespaceError) Error() string {
	return fmt.Sprintf("%s of namespace %q is not held, only of %s",
		e.Kind.Kind, e.Namespace, strings.Join(e.Held, ", "))
}

// TypeMismatchError says that a Go type cannot hold objects of the kind.
type TypeMismatchError struct {
	Kind schema.GroupVersionKind
	// Type is the Go type.
	Type string
	// Reason is for a person.
	Reason string
}

func (e *TypeMismatchError) Error() string {
	return fmt.Sprintf("%s does not fit into %s: %s", e.Kind.Kind, e.Type, e.Reason)
}

// Problem is one thing that went wrong and that somebody should look at: a version of an object
// that cannot be used, a callback that panicked, a call that takes long, or a memory budget that was
// passed.
type Problem struct {
	Kind schema.GroupVersionKind
	// Key and ResourceVersion are those of the object, as far as they are known; empty where it is
	// about no object.
	Key             object.Key
	ResourceVersion string
	// Handler is the name of the registration whose callback panicked, or takes long; empty otherwise.
	Handler string
	// Err is the cause: a *run.PanicError, with its stack, if something panicked, a *BudgetError for a
	// budget, an *OverdueError for a call.
	Err error
}
