package cache

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ErrDuplicateKind says that Options.Kinds has a kind twice.
var ErrDuplicateKind = errors.New("kind is given twice")

// UndeclaredError says that a kind was read that nobody has opened. Nothing was started. Read it
// live from the server, or open it.
type UndeclaredError struct {
	Kind schema.GroupVersionKind
	// MetadataOnly says that the kind is open, but holds metadata only.
	MetadataOnly bool
}

func (e *UndeclaredError) Error() string {
	if e.MetadataOnly {
		return fmt.Sprintf("cache: only the metadata of %s is held", e.Kind)
	}
	return fmt.Sprintf("cache: %s is not held: nobody has opened it", e.Kind)
}

// UnsupportedError says that a read asks for what only the server can answer.
type UnsupportedError struct {
	Kind schema.GroupVersionKind
	// Option is what was asked for.
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

// ContinueError says that a continue token is not one of this cache.
type ContinueError struct {
	Token string
}

func (e *ContinueError) Error() string {
	return fmt.Sprintf("cache: %q is not a continue token of a cache", e.Token)
}
