package informer

import (
	"errors"
	"iter"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// Lister reads one kind from the store of an informer. What it returns is decoded for the caller
// and belongs to them. Each call reads one snapshot, which never holds up the writer. Until the
// informer has synced every read is a *NotSyncedError, and while the kind is unavailable an
// *UnavailableError. Make one with NewLister.
type Lister[T any] struct {
	informer func() *Informer
	copy     func(*Informer, *store.Entry) (*T, error)
	opts     []ReadOption
}

// With returns a lister that reads with these options.
func (l Lister[T]) With(opts ...ReadOption) Lister[T] {
	l.opts = opts
	return l
}

// NewLister returns a lister of an informer. It fails with a *TypeMismatchError if T cannot hold
// the kind.
func NewLister[T any, P object.Ptr[T]](in *Informer) (Lister[T], error) {
	if err := in.Fits(P(new(T))); err != nil {
		return Lister[T]{}, err
	}
	return newLister[T, P](func() *Informer { return in }), nil
}

func newLister[T any, P object.Ptr[T]](in func() *Informer) Lister[T] {
	return Lister[T]{informer: in, copy: func(in *Informer, e *store.Entry) (*T, error) {
		obj := new(T)
		if err := in.Decode(e, P(obj)); err != nil {
			return nil, err
		}
		return obj, nil
	}}
}

// Get returns the object of a key, whose namespace is ignored for a cluster-scoped kind. The
// error is a *client.NotFoundError if there is none, a *store.SetAsideError if it cannot be used, and a
// *NamespaceError if the informer does not watch the namespace.
func (l Lister[T]) Get(key object.Key) (*T, error) {
	in := l.informer()
	e, err := in.Entry(key, l.opts...)
	if err != nil {
		return nil, err
	}
	return l.copy(in, e)
}

// Header returns the metadata of the object of a key, without decoding anything. It is the
// caller's. Errors are those of Get.
func (l Lister[T]) Header(key object.Key) (*object.Header, error) {
	return l.informer().Header(key, l.opts...)
}

// List returns the objects of a namespace (empty: all) whose labels match (nil: all), in the
// order of their keys. Those that cannot be used are left out: the error then joins a
// *store.SetAsideError for each, beside the others.
func (l Lister[T]) List(namespace string, sel labels.Selector) ([]*T, error) {
	return collect(l.All(namespace, sel))
}

// All yields what List returns, one by one. An object that cannot be used is yielded as nil with
// its *store.SetAsideError, and the sequence goes on; any other error ends it. Of many objects some
// are decoded ahead, by several goroutines, see [run.Ahead].
func (l Lister[T]) All(namespace string, sel labels.Selector) iter.Seq2[*T, error] {
	return l.query(Query{Namespace: namespace, Labels: sel})
}

// Select yields the objects that meet a condition on indexes, in the order of their keys, like
// All. An index that does not exist is a *store.UnknownIndexError, and one that waits for its function a
// *store.IndexPendingError.
//
//	l.Select(store.And(store.Is("spec.nodeName", "n1"), store.Is("app", "web")))
func (l Lister[T]) Select(cond store.Cond) iter.Seq2[*T, error] {
	return l.query(Query{Where: cond})
}

// Headers yields the metadata of what List returns, without decoding anything. The headers are
// the caller's.
func (l Lister[T]) Headers(namespace string, sel labels.Selector) iter.Seq2[*object.Header, error] {
	return func(yield func(*object.Header, error) bool) {
		entries, err := l.informer().Entries(Query{Namespace: namespace, Labels: sel, EvenUnavailable: even(l.opts)})
		if err != nil {
			yield(nil, err)
			return
		}
		for e := range entries {
			if !yield(e.Header(), nil) {
				return
			}
		}
	}
}

func (l Lister[T]) query(q Query) iter.Seq2[*T, error] {
	q.EvenUnavailable = even(l.opts)
	return func(yield func(*T, error) bool) {
		in := l.informer()
		entries, err := in.Entries(q)
		if err != nil {
			yield(nil, err)
			return
		}
		copied := run.Ahead(entries, (*store.Entry).Size, func(e *store.Entry) (*T, error) { return l.copy(in, e) })
		for obj, err := range copied {
			if !yield(obj, err) {
				return
			}
		}
	}
}

func collect[T any](all iter.Seq2[*T, error]) ([]*T, error) {
	var objects []*T
	var errs []error
	for obj, err := range all {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		objects = append(objects, obj)
	}
	return objects, errors.Join(errs...)
}
