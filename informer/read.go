package informer

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
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
	// After restricts to keys after this one. The zero Key means from the start.
	After object.Key
	// EvenUnavailable reads the held objects also while the kind is unavailable.
	EvenUnavailable bool
	// Lent is that of [store.Query].
	Lent bool
}

// Snapshot returns the present content. It is immutable. The caller may keep it. Errors: *NotSyncedError,
// *UnavailableError.
func (in *Informer) Snapshot(opts ...ReadOption) (*store.Snapshot, error) {
	if err := in.readable(even(opts)); err != nil {
		return nil, err
	}
	return in.store.Snapshot(), nil
}

// Entry returns the present entry of a key. The namespace of the key is ignored for a
// cluster-scoped kind. Errors: *NotSyncedError, *UnavailableError, *NamespaceError,
// *client.NotFoundError, *store.RejectedError.
func (in *Informer) Entry(key object.Key, opts ...ReadOption) (*store.Entry, error) {
	if err := in.answers(key, even(opts)); err != nil {
		return nil, err
	}
	e, ok := in.store.Snapshot().Lookup(key)
	if !ok {
		return nil, in.absent(key)
	}
	if e.Err() != nil {
		return nil, in.rejectedError(e, e.Err())
	}
	return e, nil
}

// Header returns a copy of the metadata of an object. It costs less than Entry, and more than Look. Errors
// are those of Entry.
func (in *Informer) Header(key object.Key, opts ...ReadOption) (h *object.Header, err error) {
	err = in.Look(key, func(e *store.Entry) error {
		h = e.Header()
		return nil
	}, opts...)
	return h, err
}

// Look calls f with the entry of a key, which is valid until f returns; see [store.Store.Look]. It is the
// cheapest way to read metadata: it copies nothing. Errors are those of Entry, and that of f.
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

// look is Look for an f that decodes: if it fails, the entry is rejected.
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
		return in.rejectedError(bad, err)
	}
	return nil
}

// answers returns an error if nothing is known about a key.
func (in *Informer) answers(key object.Key, even bool) error {
	if err := in.readable(even); err != nil {
		return err
	}
	return in.holds(key.Namespace)
}

// absent returns the error for a key without an object.
func (in *Informer) absent(key object.Key) error {
	if in.Kind().ClusterScoped {
		key.Namespace = ""
	}
	return client.NewNotFound(client.Call{
		Verb: "get", Resource: in.o.Kind.Resource, Kind: in.o.Kind.GVK.Kind, Key: key,
	})
}

// Entries yields the entries of one snapshot that a query selects, in the order of the keys. It decodes
// nothing. Rejected entries are among them, also those with unknown labels, and whatever the condition is:
// no index has them, so they may belong there. The index by [wire.OwnerUIDs] is made when it is first asked.
//
// Errors: *NotSyncedError, *UnavailableError, *NamespaceError, *store.UnknownIndexError,
// *store.IndexPendingError.
func (in *Informer) Entries(q Query) (iter.Seq[*store.Entry], error) {
	if err := in.readable(q.EvenUnavailable); err != nil {
		return nil, err
	}
	snapshot := in.store.Snapshot()
	clusterScoped := in.clusterScoped(snapshot)
	if clusterScoped {
		q.Namespace = ""
	}
	if q.Namespace != "" {
		if err := in.holds(q.Namespace); err != nil {
			return nil, err
		}
	}
	match := q.match(in)
	if q.Name != "" && q.Where == nil && q.After == (object.Key{}) && (q.Namespace != "" || clusterScoped) {
		e, ok := snapshot.Lookup(object.Key{Namespace: q.Namespace, Name: q.Name})
		return one(e, ok && match(e)), nil
	}
	of := store.Query{Namespace: q.Namespace, After: q.After, Match: match, Lent: q.Lent}
	var key string
	of.Where, key = in.labels.byLabels(&q)
	all, err := snapshot.Select(of)
	if err != nil { // also since an index of labels has come or gone after the snapshot
		of.Where = q.Where
		all, err = snapshot.Select(of)
	}
	if err != nil && aboutOwners(err) {
		if err = in.indexOwners(); err == nil {
			all, err = in.store.Snapshot().Select(of)
		}
	}
	if err == nil && key != "" && q.Where == nil {
		all = in.counted(key, snapshot, of)
	}
	return all, err
}

// counted is Select for a list by the key of a label that has no index. It counts what the list reads.
func (in *Informer) counted(key string, snapshot *store.Snapshot, of store.Query) iter.Seq[*store.Entry] {
	return func(yield func(*store.Entry) bool) {
		read, found, match := 0, 0, of.Match
		of.Match = func(e *store.Entry) bool {
			read++
			return match(e)
		}
		all, _ := snapshot.Select(of) // only a condition can fail
		for e := range all {
			if found++; !yield(e) {
				break
			}
		}
		in.listed(key, read, found)
	}
}

// match returns the conditions that no index answers; nil for none.
func (q *Query) match(in *Informer) func(*store.Entry) bool {
	anyLabels := q.anyLabels()
	if anyLabels && q.Name == "" {
		return nil
	}
	return func(e *store.Entry) bool {
		if q.Name != "" && q.Name != e.Key().Name {
			return false
		}
		return anyLabels || in.hidesLabels(e) || e.Selected(q.Labels)
	}
}

func (q *Query) anyLabels() bool { return q.Labels == nil || q.Labels.Empty() }

// hidesLabels reports whether the labels of an object are not known: its header could not be read, or a transform that
// may change them has failed.
func (in *Informer) hidesLabels(e *store.Entry) bool {
	return e.Err() != nil && (e.UID() == "" || in.o.Transform != nil)
}

// Header returns the header of an entry that the query selects. The error is a *store.RejectedError if nobody knows
// whether the object meets the query: see [Informer.Entries].
func (q *Query) Header(in *Informer, e *store.Entry) (*object.Header, error) {
	if e.Err() != nil && (q.Where != nil || in.hidesLabels(e) && !q.anyLabels()) {
		return nil, in.rejectedError(e, e.Err())
	}
	return e.Header(), nil
}

func one(e *store.Entry, ok bool) iter.Seq[*store.Entry] {
	return func(yield func(*store.Entry) bool) {
		if ok {
			yield(e)
		}
	}
}

// holds returns an error if the informer does not watch a namespace.
func (in *Informer) holds(namespace string) error {
	if in.watches(namespace) || in.Kind().ClusterScoped {
		return nil
	}
	return &NamespaceError{Kind: in.o.Kind.GVK, Namespace: namespace, Held: in.namespaces}
}

// Decode writes an entry of this informer into an object of the caller, who owns it. The error is a
// *TypeMismatchError if the type cannot hold the kind, and a *store.RejectedError if the entry cannot be
// decoded. The first such error of each version is reported.
func (in *Informer) Decode(e *store.Entry, into object.Object) error {
	if err := in.Fits(into); err != nil {
		return err
	}
	err := decode(e, into)
	if wrong, ok := errors.AsType[*wire.TypeError](err); ok { // only the decoder finds it if there is no scheme
		return &TypeMismatchError{Kind: in.o.Kind.GVK, Type: fmt.Sprintf("%T", into), Reason: wrong.Reason}
	}
	if err != nil {
		return in.rejectedError(e, err)
	}
	return nil
}

// decode decodes an entry into an object of the caller. A panic of the decoder is an error.
func decode(e *store.Entry, into object.Object) error {
	return run.Safely("decode", func() error { return e.Decode(into) })
}

// Fits returns a *TypeMismatchError if objects of the kind cannot be decoded into o's type.
func (in *Informer) Fits(o object.Object) error { return fits(in.kind, o) }

func fits(k *wire.Kind, o object.Object) error {
	mismatch := func(reason string) error {
		return &TypeMismatchError{Kind: k.GVK, Type: fmt.Sprintf("%T", o), Reason: reason}
	}
	if object.Untyped(o) {
		return nil
	}
	if k.MetadataOnly {
		return mismatch("the informer holds metadata only")
	}
	if k.Scheme == nil {
		return nil // the first decode checks the type
	}
	kinds, _, err := k.Scheme.ObjectKinds(o)
	if err != nil {
		return mismatch("the scheme does not know the type")
	}
	if !slices.Contains(kinds, k.GVK) {
		return mismatch("it is the type of " + kinds[0].String())
	}
	return nil
}
