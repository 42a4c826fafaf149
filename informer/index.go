package informer

import (
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// indexFor makes the index for the kind to which it is added.
type indexFor func(*wire.Kind) (store.Indexer, error)

// Values implements store.Indexer. It fails: AddIndex replaces an indexFor.
func (indexFor) Values(*store.Entry) ([]string, error) {
	return nil, errors.New("the index was not added to an informer or a cache")
}

// IndexFunc returns an index by a function of the typed object. The index has the object under each value that
// the function returns. The function owns its argument, and must depend on nothing else. If it panics, the
// object is rejected.
//
//	informer.IndexFunc(func(p *corev1.Pod) []string { return []string{p.Spec.NodeName} })
func IndexFunc[T any, P object.Ptr[T]](f func(P) []string) store.Indexer {
	if f == nil {
		return nil
	}
	return indexFor(func(k *wire.Kind) (store.Indexer, error) {
		return store.Transient(func(e *store.Entry) ([]string, error) {
			obj := P(new(T))
			if err := e.Decode(obj); err != nil {
				return nil, err
			}
			return f(obj), nil
		}), fits(k, P(new(T)))
	})
}

// IndexView returns an index by a function of a view. It builds no objects; see
// [Informer.Projection]. The function owns its argument.
//
//	informer.IndexView(func(p *podImages) []string { … })
func IndexView[V any](f func(*V) []string) store.Indexer {
	if f == nil {
		return nil
	}
	return indexFor(func(k *wire.Kind) (store.Indexer, error) {
		_, err := wire.CompileProjection(goType(k), reflect.TypeFor[V]())
		return store.Transient(func(e *store.Entry) ([]string, error) {
			view := new(V)
			if err := e.Read(func(raw wire.Raw) error { return raw.Project(view) }); err != nil {
				return nil, err
			}
			return f(view), nil
		}), err
	})
}

// IndexPath returns an index by the value of a field, such as "spec.nodeName" or "metadata.labels[app]"; see
// [store.ByPath]. It reads the field from the bytes and builds no objects.
func IndexPath(path string) store.Indexer {
	return indexFor(func(k *wire.Kind) (store.Indexer, error) { return store.ByPath(goType(k), path) })
}

// CheckIndex returns the index for a kind, or an error if it does not fit the kind. Package cache uses it to
// declare an index before the kind is open.
func CheckIndex(s *runtime.Scheme, gvk schema.GroupVersionKind, name string, by store.Indexer) (store.Indexer, error) {
	return bind(&wire.Kind{GVK: gvk, Scheme: s}, name, by)
}

func bind(k *wire.Kind, name string, by store.Indexer) (_ store.Indexer, err error) {
	if f, ok := by.(indexFor); ok {
		by, err = f(k)
	}
	if by == nil && err == nil || name == "" {
		err = store.ErrBadIndex
	}
	if err != nil {
		return nil, fmt.Errorf("index %q: %w", name, err)
	}
	return by, nil
}

// AddIndex adds a named index, before or while the informer runs. It is built from the held objects before
// AddIndex returns. [IndexFunc], [IndexView] and [IndexPath] make indexes; so does package store.
//
// A call of its function that has run for a second is reported; see Options.OnProblem. From then on the index
// is built beside the writer. Reads of the index are a *store.IndexPendingError until it is complete.
//
// Errors: *TypeMismatchError, *wire.PathError, *wire.ProjectionError, *store.IndexExistsError,
// store.ErrBadIndex, ErrStopped.
func (in *Informer) AddIndex(name string, by store.Indexer) error {
	in.mu.Lock()
	isStopped := in.phase == stopped
	in.mu.Unlock()
	if isStopped {
		return fmt.Errorf("index %q of %s: %w", name, in.o.Kind.GVK.Kind, ErrStopped)
	}
	if err := in.addIndex(name, by); err != nil {
		return err
	}
	in.reportRejected()
	return nil
}

// indexOwners makes the index of owners: for 100,000 Pods some 300 ms, once, and 14 bytes each. Who asks for it meanwhile
// waits. The writer does not.
func (in *Informer) indexOwners() error {
	in.owners.Lock()
	defer in.owners.Unlock()
	err := in.AddIndex(wire.OwnerUIDs, IndexPath(wire.OwnerUIDs))
	if _, made := errors.AsType[*store.IndexExistsError](err); made {
		return nil
	}
	return err
}

// aboutOwners reports whether a condition needs the index of owners, which is missing or just being made.
func aboutOwners(err error) bool {
	if missing, ok := errors.AsType[*store.UnknownIndexError](err); ok {
		return missing.Index == wire.OwnerUIDs
	}
	pending, ok := errors.AsType[*store.IndexPendingError](err)
	return ok && pending.Index == wire.OwnerUIDs
}

func (in *Informer) addIndex(name string, by store.Indexer) error {
	by, err := bind(in.kind, name, by)
	if err != nil {
		return err
	}
	return in.store.AddIndex(name, by)
}

// reportRejected makes the applier report the objects that an index has rejected.
func (in *Informer) reportRejected() {
	in.unreported.Store(true)
	in.wake()
}

// goType returns the Go type against which paths and views are checked, or nil.
func goType(k *wire.Kind) reflect.Type {
	if k.MetadataOnly {
		return reflect.TypeFor[metav1.PartialObjectMetadata]()
	}
	return k.GoType()
}
