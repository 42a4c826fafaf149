package informer

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/wire"
)

// Query selects entries of an informer. The zero Query selects all.
type Query struct {
	// Namespace restricts to one namespace; empty means all. It is ignored for a cluster-scoped
	// kind.
	Namespace string
	// Name restricts to one name; empty means all.
	Name string
	// Labels restricts to what matches; nil means everything.
	Labels labels.Selector
	// Where is a condition on indexes; nil means none.
	Where store.Cond
	// After restricts to keys behind this one. The zero Key means from the start.
	After object.Key
	// EvenUnavailable reads what is held also while the kind is unavailable.
	EvenUnavailable bool
}

// Snapshot is the content as of now: immutable, to be held for as long as wanted. Until the
// informer has synced there is none, and the error is a *NotSyncedError; while the kind is
// unavailable it is an *UnavailableError.
func (in *Informer) Snapshot(opts ...ReadOption) (*store.Snapshot, error) {
	if err := in.readable(even(opts)); err != nil {
		return nil, err
	}
	return in.store.Snapshot(), nil
}

// Entry returns the present entry of a key. The namespace of the key is ignored for a
// cluster-scoped kind. Errors: *NotSyncedError, *UnavailableError, *NamespaceError,
// *client.NotFoundError, *store.SetAsideError.
func (in *Informer) Entry(key object.Key, opts ...ReadOption) (*store.Entry, error) {
	if err := in.answers(key, even(opts)); err != nil {
		return nil, err
	}
	e, ok := in.store.Snapshot().Lookup(key)
	if !ok {
		return nil, in.absent(key)
	}
	if e.Err() != nil {
		return nil, in.unusable(e, e.Err())
	}
	return e, nil
}

// Header returns the metadata of the object of a key: a copy, which is the caller's. It costs less than
// Entry, and Look costs less. Errors are those of Entry.
func (in *Informer) Header(key object.Key, opts ...ReadOption) (h *object.Header, err error) {
	err = in.Look(key, func(e *store.Entry) error {
		h = e.Header()
		return nil
	}, opts...)
	return h, err
}

// Look calls f with what Entry returns, lent: it is good until f returns, as in [store.Store.Look]. It is
// the cheapest way to read metadata, as of a label or the owners: nothing is copied that is not asked
// for. Errors are those of Entry, and that of f.
func (in *Informer) Look(key object.Key, f func(*store.Entry) error, opts ...ReadOption) error {
	var failed error
	err := in.look(key, even(opts), func(e *store.Entry) error {
		failed = f(e)
		return nil
	})
	if err != nil {
		return err
	}
	return failed
}

// look is Look, but for f: if it fails the entry is one that cannot be used.
func (in *Informer) look(key object.Key, even bool, f func(*store.Entry) error) error {
	if err := in.answers(key, even); err != nil {
		return err
	}
	var err error
	var bad *store.Entry
	found := in.store.Look(key, func(e *store.Entry) {
		if err = e.Err(); err == nil {
			err = f(e)
		}
		if err != nil {
			bad = e.Compact()
		}
	})
	switch {
	case !found:
		return in.absent(key)
	case err != nil:
		return in.unusable(bad, err)
	}
	return nil
}

// answers returns an error if nothing can be said about a key.
func (in *Informer) answers(key object.Key, even bool) error {
	if err := in.readable(even); err != nil {
		return err
	}
	return in.holds(key.Namespace)
}

// absent is the error for a key under which there is nothing.
func (in *Informer) absent(key object.Key) error {
	if in.o.Kind.ClusterScoped {
		key.Namespace = ""
	}
	return client.NewNotFound(client.Call{
		Verb: "get", Resource: in.o.Kind.Resource, Kind: in.o.Kind.GVK.Kind, Key: key,
	})
}

// Entries yields what a query selects in one snapshot, in the order of the keys, decoding
// nothing. Entries that were set aside are among them, those included of which it is not known
// whether their labels match, but not where the query has a condition, since no index holds them.
// Errors: *NotSyncedError, *UnavailableError, *NamespaceError, *store.UnknownIndexError,
// *store.IndexPendingError.
func (in *Informer) Entries(q Query) (iter.Seq[*store.Entry], error) {
	if err := in.readable(q.EvenUnavailable); err != nil {
		return nil, err
	}
	snapshot := in.store.Snapshot()
	if in.o.Kind.ClusterScoped {
		q.Namespace = ""
	}
	if q.Namespace != "" {
		if err := in.holds(q.Namespace); err != nil {
			return nil, err
		}
	}
	match := q.match()
	if q.Name != "" && q.Where == nil && q.After == (object.Key{}) && (q.Namespace != "" || in.o.Kind.ClusterScoped) {
		e, ok := snapshot.Lookup(object.Key{Namespace: q.Namespace, Name: q.Name})
		return one(e, ok && match(e)), nil
	}
	return snapshot.Select(store.Query{Namespace: q.Namespace, Where: q.Where, After: q.After, Match: match})
}

// match is what a query asks of an entry that no index knows; nil: nothing.
func (q *Query) match() func(*store.Entry) bool {
	anyLabels := q.Labels == nil || q.Labels.Empty()
	if anyLabels && q.Name == "" {
		return nil
	}
	return func(e *store.Entry) bool {
		if q.Name != "" && q.Name != e.Key().Name {
			return false
		}
		unknown := e.Err() != nil && e.UID() == "" // its header could not be read
		return anyLabels || unknown || e.Selected(q.Labels)
	}
}

func one(e *store.Entry, ok bool) iter.Seq[*store.Entry] {
	return func(yield func(*store.Entry) bool) {
		if ok {
			yield(e)
		}
	}
}

// holds returns an error if a namespace is not among what is watched.
func (in *Informer) holds(namespace string) error {
	only := in.o.Selection.Namespace
	if only == "" || only == namespace || in.o.Kind.ClusterScoped {
		return nil
	}
	return &NamespaceError{Kind: in.o.Kind.GVK, Namespace: namespace, Held: []string{only}}
}

// Decode writes an entry of this informer into an object of the caller's, which then owns all of
// it. The first time that fails for a version it is reported. The error is a *store.SetAsideError,
// or *TypeMismatchError if the object is of a type that cannot hold the kind.
func (in *Informer) Decode(e *store.Entry, into object.Object) error {
	if err := in.Fits(into); err != nil {
		return err
	}
	err := decode(e, into)
	if wrong, ok := errors.AsType[*wire.TypeError](err); ok { // without a scheme it shows here only
		return &TypeMismatchError{Kind: in.o.Kind.GVK, Type: fmt.Sprintf("%T", into), Reason: wrong.Reason}
	}
	if err != nil {
		return in.unusable(e, err)
	}
	return nil
}

// decode makes a copy that the caller owns. A decoder that panics fails.
func decode(e *store.Entry, into object.Object) error {
	return run.Safely("decode", func() error { return e.Decode(into) })
}

// Fits returns a *TypeMismatchError if objects of the kind cannot be decoded into o's type.
func (in *Informer) Fits(o object.Object) error {
	mismatch := func(reason string) error {
		return &TypeMismatchError{Kind: in.o.Kind.GVK, Type: fmt.Sprintf("%T", o), Reason: reason}
	}
	if object.Untyped(o) {
		return nil
	}
	if in.o.Selection.MetadataOnly {
		return mismatch("the informer holds metadata only")
	}
	if in.o.Scheme == nil {
		return nil // found out when the first object is decoded
	}
	kinds, _, err := in.o.Scheme.ObjectKinds(o)
	if err != nil {
		return mismatch("the scheme does not know the type")
	}
	if !slices.Contains(kinds, in.o.Kind.GVK) {
		return mismatch("it is the type of " + kinds[0].String())
	}
	return nil
}
