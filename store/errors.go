package store

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/object"
)

// ErrBadIndex is the cause when an index has no name or no function.
var ErrBadIndex = errors.New("an index needs a name and a function")

// RejectedError is returned for a rejected object: it exists and cannot be used. It could not be
// decoded or transformed, or an index function failed on it. The store retries when the object
// changes.
type RejectedError struct {
	Resource schema.GroupResource
	Key      object.Key
	// Err is the cause.
	Err error
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("%s %q is rejected by the cache: %v", e.Resource, e.Key, e.Err)
}

func (e *RejectedError) Unwrap() error { return e.Err }

// Is reports whether target is object.ErrNoAnswer: the object exists, but its content is not known.
func (e *RejectedError) Is(target error) bool { return target == object.ErrNoAnswer }

// UnknownIndexError is returned for an index that does not exist.
type UnknownIndexError struct {
	Resource schema.GroupResource
	Index    string
}

func (e *UnknownIndexError) Error() string {
	return fmt.Sprintf("%s have no index %q", e.Resource, e.Index)
}

// Is reports whether target is object.ErrNoAnswer.
func (e *UnknownIndexError) Is(target error) bool { return target == object.ErrNoAnswer }

// IndexPendingError is returned for an index that does not cover every object yet. The index was
// just added, or a call of its function took too long; see [Indexer]. An answer would be
// incomplete. The state ends by itself: the function returns, and is asked about the objects
// written in the meantime. Reads of objects and of other indexes are not affected.
type IndexPendingError struct {
	Resource schema.GroupResource
	Index    string
	// Since is when the index became pending.
	Since time.Time
	// Key is the object of the current call of the function, and Asked is when that call began.
	// Both are zero between two calls.
	Key   object.Key
	Asked time.Time
	// Missing is about how many objects the index does not cover.
	Missing int
}

func (e *IndexPendingError) Error() string {
	text := fmt.Sprintf("index %q of %s is pending since %s: it lacks %d objects",
		e.Index, e.Resource, e.Since.Format(time.RFC3339), e.Missing)
	if !e.Asked.IsZero() {
		text += fmt.Sprintf("; its function runs for %s since %s", e.Key, e.Asked.Format(time.RFC3339))
	}
	return text
}

// Is reports whether target is object.ErrNoAnswer.
func (e *IndexPendingError) Is(target error) bool { return target == object.ErrNoAnswer }

// IndexExistsError is returned when an index is added under a name that is taken.
type IndexExistsError struct {
	Resource schema.GroupResource
	Index    string
}

func (e *IndexExistsError) Error() string {
	return fmt.Sprintf("%s already have an index %q", e.Resource, e.Index)
}

// IndexError is the cause of a rejection by an index function: it returned an error, or panicked.
// After a panic Err is a *run.PanicError.
type IndexError struct {
	Index string
	Err   error
}

func (e *IndexError) Error() string { return fmt.Sprintf("index %q: %v", e.Index, e.Err) }

func (e *IndexError) Unwrap() error { return e.Err }
