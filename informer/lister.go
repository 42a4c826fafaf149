package informer

import (
	"iter"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/object"
)

// Lister reads one kind from the store of an informer. What it returns is decoded for the caller
// and belongs to them. Each call reads one snapshot, which never holds up the writer. Until the
// informer has synced every read is a *NotSyncedError.
type Lister[T any] struct {
	in *Informer
}

// NewLister returns a lister of an informer. It fails with a *TypeMismatchError if T cannot hold
// the kind.
func NewLister[T any, P object.Ptr[T]](in *Informer) (Lister[T], error) { panic("soon") }

// Get returns the object of a key, whose namespace is ignored for a cluster-scoped kind. The
// error is that of package client for NotFound if there is none, and an *AsideError if it cannot
// be decoded.
func (l Lister[T]) Get(key object.Key) (*T, error) { panic("soon") }

// List returns the objects of a namespace (empty: all) whose labels match (nil: all), in the
// order of their keys. One that cannot be decoded ends it with an error; [Lister.All] goes on.
func (l Lister[T]) List(namespace string, sel labels.Selector) ([]*T, error) { panic("soon") }

// All yields what List returns, one by one. An object that cannot be decoded is yielded as nil
// with its *AsideError, and the sequence goes on.
func (l Lister[T]) All(namespace string, sel labels.Selector) iter.Seq2[*T, error] { panic("soon") }

// Headers yields the metadata of what List returns, without decoding anything. The headers are
// shared: read only.
func (l Lister[T]) Headers(namespace string, sel labels.Selector) iter.Seq2[*object.Header, error] {
	panic("soon")
}
