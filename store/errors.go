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

// SetAsideError is returned for an object that is there and cannot be used: it could not be
// decoded, or transformed, or an index function failed on it. It is tried again when it changes.
type SetAsideError struct {
	Resource schema.GroupResource
	Key      object.Key
	// Err is the cause.
	Err error
}

func (e *SetAsideError) Error() string {
	return fmt.Sprintf("%s %q is set aside: %v", e.Resource, e.Key, e.Err)
}

func (e *SetAsideError) Unwrap() error { return e.Err }

// Is reports whether target is object.ErrNoAnswer: the object is there, what it says is not known.
func (e *SetAsideError) Is(target error) bool { return target == object.ErrNoAnswer }

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

// IndexPendingError is returned for an index whose function has not been asked about every object yet:
// a call of it took too long, see [Indexer], or the index was just added. An answer would say less
// than is true. It ends by itself when the function has returned, and has been asked about what was
// written meanwhile. Nothing else waits for it: not the objects, nor other indexes.
type IndexPendingError struct {
	Resource schema.GroupResource
	Index    string
	// Since is when the index became pending.
	Since time.Time
	// Key is the object about which the function is asked at present, and Asked since when. Both are
	// zero between two calls.
	Key   object.Key
	Asked time.Time
	// Missing is about how many objects the function is still to be asked.
	Missing int
}

func (e *IndexPendingError) Error() string {
	text := fmt.Sprintf("index %q of %s is pending since %s: its function is still to be asked about %d objects",
		e.Index, e.Resource, e.Since.Format(time.RFC3339), e.Missing)
	if !e.Asked.IsZero() {
		text += fmt.Sprintf(", and is asked about %s since %s", e.Key, e.Asked.Format(time.RFC3339))
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

// IndexError is the cause for which an object is set aside when an index function failed on it,
// by an error or by a panic; Err is a *run.PanicError then.
type IndexError struct {
	Index string
	Err   error
}

func (e *IndexError) Error() string { return fmt.Sprintf("index %q: %v", e.Index, e.Err) }

func (e *IndexError) Unwrap() error { return e.Err }
