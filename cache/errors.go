package cache

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/object"
)

// UndeclaredError says that a read is of a kind that is not open. The read started nothing. Read
// the object live from the server, or open the kind.
type UndeclaredError struct {
	Kind schema.GroupVersionKind
	// MetadataOnly reports that the kind is open for metadata only.
	MetadataOnly bool
}

func (e *UndeclaredError) Error() string {
	if e.MetadataOnly {
		return fmt.Sprintf("cache: %s is open for metadata only", e.Kind)
	}
	return fmt.Sprintf("cache: %s is not open: open it, or read it live", e.Kind)
}

// Is reports whether target is object.ErrNoAnswer.
func (e *UndeclaredError) Is(target error) bool { return target == object.ErrNoAnswer }

// UnsupportedError says that only the server can answer a read.
type UnsupportedError struct {
	Kind schema.GroupVersionKind
	// Option is the option that the cache does not support.
	Option string
	// Reason is for a person.
	Reason string
	cause  error
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("cache: read of %s: %s: %s", e.Kind.Kind, e.Option, e.Reason)
}

// Unwrap returns [client.ErrNotLive] for a live read and a read at a version, else nil.
func (e *UnsupportedError) Unwrap() error { return e.cause }

// Is reports whether target is object.ErrNoAnswer.
func (e *UnsupportedError) Is(target error) bool { return target == object.ErrNoAnswer }

// ContinueError says that a continue token is not from this cache.
type ContinueError struct {
	Token string
}

func (e *ContinueError) Error() string {
	return fmt.Sprintf("cache: %q is not a continue token of a cache", e.Token)
}
