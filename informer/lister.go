package informer

import (
	"errors"
	"iter"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// Lister reads one kind from memory. It decodes for the caller, who owns the objects. Each call reads one
// snapshot, and never delays the writer. Until the informer has synced every read is a *NotSyncedError,
// and while the kind is unavailable an *UnavailableError. NewLister makes one.
type Lister[T any] struct {
	informers func() []*Informer
	copy      func(*Informer, *store.Entry) (*T, error)
	opts      []ReadOption
}

// With returns a lister that reads with these options.
func (l Lister[T]) With(opts ...ReadOption) Lister[T] {
	l.opts = opts
	return l
}

// NewLister returns a lister of an informer. It fails with a *TypeMismatchError if T cannot hold the kind.
func NewLister[T any, P object.Ptr[T]](in *Informer) (Lister[T], error) {
	if err := in.Fits(P(new(T))); err != nil {
		return Lister[T]{}, err
	}
	all := []*Informer{in}
	return Lister[T]{informers: func() []*Informer { return all }, copy: func(in *Informer, e *store.Entry) (*T, error) {
		obj := new(T)
		if err := in.Decode(e, P(obj)); err != nil {
			return nil, err
		}
		return obj, nil
	}}, nil
}

// Over returns a lister that reads several informers of its kind, in the order of their namespaces. Every
// read calls informers.
func (l Lister[T]) Over(informers func() []*Informer) Lister[T] {
	l.informers = informers
	return l
}

// holding returns the informers that hold a namespace; empty means all.
func (l Lister[T]) holding(namespace string) ([]*Informer, error) {
	all := l.informers()
	if namespace == "" || len(all) == 1 {
		return all, nil
	}
	missing := &NamespaceError{Kind: all[0].o.Kind.GVK, Namespace: namespace}
	for i, in := range all {
		if in.holds(namespace) == nil {
			return all[i : i+1], nil
		}
		missing.Held = append(missing.Held, in.namespaces...)
	}
	return nil, missing
}

// Get returns the object of a key. The namespace is ignored for a cluster-scoped kind. The error is a
// *client.NotFoundError if there is no object, a *store.RejectedError if it is rejected, and a *NamespaceError
// if the informer does not watch the namespace.
func (l Lister[T]) Get(key object.Key) (obj *T, err error) {
	all, err := l.holding(key.Namespace)
	if err != nil {
		return nil, err
	}
	err = all[0].Look(key, func(e *store.Entry) (err error) {
		obj, err = l.copy(all[0], e)
		return err
	}, l.opts...)
	return obj, err
}

// Header returns the metadata of the object of a key. It decodes nothing. The caller owns the header. Errors
// are those of Get.
func (l Lister[T]) Header(key object.Key) (*object.Header, error) {
	all, err := l.holding(key.Namespace)
	if err != nil {
		return nil, err
	}
	return all[0].Header(key, l.opts...)
}

// List returns the objects of a namespace (empty: all) whose labels match (nil: all), in the order of their
// keys. It omits rejected objects. The error joins a *store.RejectedError for each of them, and other errors.
func (l Lister[T]) List(namespace string, sel labels.Selector) ([]*T, error) {
	return collect(l.All(namespace, sel))
}

// All yields the objects of List one by one. A rejected object is nil with its *store.RejectedError, and the
// sequence goes on; any other error ends it.
func (l Lister[T]) All(namespace string, sel labels.Selector) iter.Seq2[*T, error] {
	return l.query(Query{Namespace: namespace, Labels: sel})
}

// Select yields the objects that meet a condition on indexes, in the order of their keys, like
// All. An unknown index is a *store.UnknownIndexError, and one that is not complete yet a
// *store.IndexPendingError.
//
//	l.Select(store.And(store.Is("spec.nodeName", "n1"), store.Is("app", "web")))
func (l Lister[T]) Select(cond store.Cond) iter.Seq2[*T, error] {
	return l.query(Query{Where: cond})
}

// Headers yields the metadata of the objects that List returns. It decodes nothing. The caller owns the headers. Where the
// labels of a rejected object are not known, it is a *store.RejectedError, and the sequence goes on.
func (l Lister[T]) Headers(namespace string, sel labels.Selector) iter.Seq2[*object.Header, error] {
	return func(yield func(*object.Header, error) bool) {
		q := Query{Namespace: namespace, Labels: sel}
		all, err := l.find(q)
		if err != nil {
			yield(nil, err)
			return
		}
		for f := range all {
			if !yield(q.Header(f.Informer, f.Entry)) {
				return
			}
		}
	}
}

func (l Lister[T]) query(q Query) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		all, err := l.find(q)
		if err != nil {
			yield(nil, err)
			return
		}
		for f := range all {
			if !yield(l.copy(f.Informer, f.Entry)) {
				return
			}
		}
	}
}

func (l Lister[T]) find(q Query) (iter.Seq[Found], error) {
	q.EvenUnavailable, q.Lent = even(l.opts), true
	all, err := l.holding(q.Namespace)
	if err != nil {
		return nil, err
	}
	return Find(all, q)
}

// Found is an entry that a query selects, and its informer.
type Found struct {
	Informer *Informer
	Entry    *store.Entry
}

// Find yields the entries of several informers of one kind that a query selects, informer by informer. It takes
// all snapshots before it returns. Errors are those of [Informer.Entries].
func Find(all []*Informer, q Query) (iter.Seq[Found], error) {
	selected := make([]iter.Seq[*store.Entry], len(all))
	for i, in := range all {
		var err error
		if selected[i], err = in.Entries(q); err != nil {
			return nil, err
		}
	}
	return func(yield func(Found) bool) {
		for i, in := range all {
			for e := range selected[i] {
				if !yield(Found{in, e}) {
					return
				}
			}
		}
	}, nil
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
