package informer

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/wire"
)

// Indexable is what indexes are added to: an *Informer, or a *Share, whose indexes are there again
// when its factory starts again.
type Indexable interface {
	Fits(object.Object) error
	IndexEntries(name string, by store.Indexer) error
}

// Index adds a named index by a function of the typed object, before or while the informer runs:
// an object is found under each of the values that the function returns for it. The function is
// given a copy of its own and must depend on nothing else. An object on which it panics is set
// aside. A call that has run for a second is named, see Options.OnProblem, and nothing waits for it any
// more but reads of this index, which are a *store.IndexPendingError until it has caught up.
//
// Errors: *TypeMismatchError, *store.IndexExistsError, store.ErrBadIndex, ErrStopped.
func Index[T any, P object.Ptr[T]](to Indexable, name string, f func(P) []string) error {
	if f == nil {
		return to.IndexEntries(name, nil)
	}
	if err := to.Fits(P(new(T))); err != nil {
		return fmt.Errorf("index %q: %w", name, err)
	}
	return to.IndexEntries(name, IndexFunc(f))
}

// IndexFunc makes an index function of entries of one on typed objects.
func IndexFunc[T any, P object.Ptr[T]](f func(P) []string) store.Indexer {
	return store.Transient(func(e *store.Entry) ([]string, error) {
		obj := P(new(T))
		if err := e.Decode(obj); err != nil {
			return nil, err
		}
		return f(obj), nil
	})
}

// IndexPath adds an index by the value of a field under the path as its name: "spec.nodeName",
// "metadata.labels[app]", "spec.containers[*].image"; see [wire.CompilePath]. The field is read from
// the bytes; no object is built. Objects without it are not found.
//
// Errors: *wire.PathError and those of Index.
func (in *Informer) IndexPath(path string) error {
	f, err := IndexPathFunc(in.goType(), path)
	if err != nil {
		return err
	}
	return in.IndexEntries(path, f)
}

// IndexPathFunc makes an index function of entries of a field path. t is the Go type of the kind,
// against which the path is checked, or nil. The error is a *wire.PathError.
func IndexPathFunc(t reflect.Type, path string) (store.Indexer, error) {
	p, err := wire.CompilePath(t, path)
	if err != nil {
		return nil, err
	}
	return store.ByPath(p), nil
}

// goType is the Go type that paths are checked against, or nil.
func (in *Informer) goType() reflect.Type {
	if in.o.Selection.MetadataOnly {
		return reflect.TypeFor[metav1.PartialObjectMetadata]()
	}
	return (&wire.Kind{GVK: in.o.Kind.GVK, Scheme: in.o.Scheme}).GoType()
}

// IndexEntries adds an index by a function of the entry: what Index and IndexPath stand on. It is
// built over what is there before it returns.
func (in *Informer) IndexEntries(name string, by store.Indexer) error {
	in.mu.Lock()
	over := in.phase == stopped
	in.mu.Unlock()
	if over {
		return fmt.Errorf("index %q of %s: %w", name, in.o.Kind.GVK.Kind, ErrStopped)
	}
	if err := in.store.AddIndex(name, by); err != nil {
		return err
	}
	in.reportAsides()
	return nil
}

// reportAsides has the applier tell which objects an index has set aside, if there are any.
func (in *Informer) reportAsides() {
	in.unreported.Store(true)
	in.fifo.Wake()
}
