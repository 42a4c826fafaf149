package object

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// UnknownKindError says that the kind of an object is unknown. Its Go type is not in the scheme, or
// it is unstructured or metadata-only and does not name its kind.
type UnknownKindError struct {
	// Type is the Go type.
	Type string
	Err  error
}

func (e *UnknownKindError) Error() string {
	s := fmt.Sprintf("kind of %s: %v", e.Type, e.Err)
	if runtime.IsNotRegisteredError(e.Err) {
		s += "; add the type to the scheme by AddToScheme of its package"
	}
	return s
}

func (e *UnknownKindError) Unwrap() error { return e.Err }

// Is reports whether target is [ErrNoAnswer].
func (e *UnknownKindError) Is(target error) bool { return target == ErrNoAnswer }

var (
	errNoKind   = errors.New("the object names no apiVersion and kind")
	errNoScheme = errors.New("there is no scheme")
)

// Untyped reports whether an object is unstructured or metadata-only: its Go type does not
// determine its kind.
func Untyped(o Object) bool {
	switch o.(type) {
	case *unstructured.Unstructured, *metav1.PartialObjectMetadata:
		return true
	}
	return false
}

// KindOf returns the kind of an object. The Go type determines it; an unstructured or metadata-only
// object names its apiVersion and kind. If the scheme has the Go type for several kinds, it is the
// one that the object names, or else the first. The error is an *UnknownKindError.
func KindOf(s *runtime.Scheme, o Object) (schema.GroupVersionKind, error) {
	unknown := func(err error) (schema.GroupVersionKind, error) {
		return schema.GroupVersionKind{}, &UnknownKindError{Type: fmt.Sprintf("%T", o), Err: err}
	}
	if o == nil {
		return unknown(errNoKind)
	}
	named := o.GetObjectKind().GroupVersionKind()
	if Untyped(o) {
		if named.Kind == "" || named.Version == "" {
			return unknown(errNoKind)
		}
		return named, nil
	}
	if s == nil {
		return unknown(errNoScheme)
	}
	kinds, _, err := s.ObjectKinds(o)
	if err != nil {
		return unknown(err)
	}
	if len(kinds) > 1 && !named.Empty() {
		return named, nil
	}
	return kinds[0], nil
}
