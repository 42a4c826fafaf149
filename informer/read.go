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
}

// Snapshot is the content as of now: immutable, to be held for as long as wanted. Until the
// informer has synced there is none, and the error is a *NotSyncedError.
func (in *Informer) Snapshot() (*store.Snapshot, error) {
	if !in.HasSynced() {
		return nil, in.notSynced()
	}
	return in.store.Snapshot(), nil
}

// Entry returns the present entry of a key. The namespace of the key is ignored for a
// cluster-scoped kind. Errors: *NotSyncedError, *NamespaceError, *client.NotFound,
// *store.SetAsideError.
func (in *Informer) Entry(key object.Key) (*store.Entry, error) {
	if !in.HasSynced() {
		return nil, in.notSynced()
	}
	if err := in.holds(key.Namespace); err != nil {
		return nil, err
	}
	view := in.store.View()
	e, ok := view.Lookup(key)
	view.Release()
	if !ok {
		if in.o.Kind.ClusterScoped {
			key.Namespace = ""
		}
		return nil, client.NewNotFound(client.Call{
			Verb: "get", Resource: in.o.Kind.Resource, Kind: in.o.Kind.GVK.Kind, Key: key,
		})
	}
	if e.Err() != nil {
		return nil, in.unusable(e, e.Err())
	}
	return e, nil
}

// Entries yields what a query selects in one snapshot, in the order of the keys, decoding
// nothing. Entries that were set aside are among them, those included of which it is not known
// whether their labels match, but not where the query has a condition, since no index holds them.
// Errors: *NotSyncedError, *NamespaceError, *store.UnknownIndexError.
func (in *Informer) Entries(q Query) (iter.Seq[*store.Entry], error) {
	snapshot, err := in.Snapshot()
	if err != nil {
		return nil, err
	}
	if in.o.Kind.ClusterScoped {
		q.Namespace = ""
	}
	if q.Namespace != "" {
		if err := in.holds(q.Namespace); err != nil {
			return nil, err
		}
	}
	all, err := snapshot.Select(store.Query{Namespace: q.Namespace, Where: q.Where, After: q.After})
	anyLabels := q.Labels == nil || q.Labels.Empty()
	if err != nil || anyLabels && q.Name == "" {
		return all, err
	}
	if q.Name != "" && q.Where == nil && q.After == (object.Key{}) && (q.Namespace != "" || in.o.Kind.ClusterScoped) {
		all = one(snapshot.Lookup(object.Key{Namespace: q.Namespace, Name: q.Name}))
	}
	return func(yield func(*store.Entry) bool) {
		for e := range all {
			if q.Name != "" && q.Name != e.Key().Name {
				continue
			}
			unknown := e.Err() != nil && e.UID() == "" // its header could not be read
			if (anyLabels || unknown || q.Labels.Matches(labels.Set(e.Labels()))) && !yield(e) {
				return
			}
		}
	}, nil
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
