package ctrlcache

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball/adapter/internal/objects"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// Get implements client.Reader. It decodes the object into obj, which belongs to the caller.
//
// Errors: cache.ErrCacheNotStarted, cache.ErrResourceNotCached, a NotFound, a Timeout if ctx ends before the
// watch has synced, an error for a namespace that is not cached, and *store.RejectedError for an object that
// cannot be decoded.
func (c *Cache) Get(ctx context.Context, key crclient.ObjectKey, obj crclient.Object, opts ...crclient.GetOption) error {
	o := crclient.GetOptions{}
	o.ApplyOptions(opts)
	return c.look(ctx, key, obj, func(w *watch, e *store.Entry) error {
		if err := w.decode(e, obj); err != nil {
			return err
		}
		if w.unsafe || o.UnsafeDisableDeepCopy != nil && *o.UnsafeDisableDeepCopy {
			objects.Untag(obj)
		}
		return nil
	})
}

// look calls f with the entry of a key, which is valid until f returns, and its watch.
func (c *Cache) look(ctx context.Context, at crclient.ObjectKey, obj crclient.Object, f func(*watch, *store.Entry) error) error {
	key, k, err := c.readKind(obj)
	if err != nil {
		return err
	}
	scope, ok := k.scopes.holding(at.Namespace)
	if !ok {
		return fmt.Errorf("unable to get: %v because of unknown namespace for the cache", at)
	}
	w, err := c.readable(ctx, key, k, scope)
	if err != nil {
		return err
	}
	err = w.in.Look(object.Key(at), func(e *store.Entry) error { return f(w, e) }, informer.EvenUnavailable)
	_, outside := errors.AsType[*informer.NamespaceError](err)
	if outside && w.kind.ClusterScoped { // it has namespaces now
		return fmt.Errorf("unable to get: %v because of unknown namespace for the cache", at)
	}
	if _, absent := errors.AsType[*client.NotFoundError](err); absent || outside {
		err = apierrors.NewNotFound(schema.GroupResource{Group: key.gvk.Group, Resource: key.gvk.Kind}, at.Name)
	}
	return err
}

// readKind returns the kind of an object or a list that is read. With ReaderFailOnMissingInformer the mapper is
// not asked about a kind without an informer.
func (c *Cache) readKind(proto runtime.Object) (kindKey, *kind, error) {
	key, err := keyOf(c.opts.Scheme, proto)
	if err != nil {
		return key, nil, err
	}
	if c.opts.ReaderFailOnMissingInformer {
		c.mu.RLock()
		in := c.informers[key]
		c.mu.RUnlock()
		if in == nil {
			return key, nil, &crcache.ErrResourceNotCached{GVK: key.gvk}
		}
	}
	k, err := c.kind(key.gvk)
	return key, k, err
}

// readable returns a watch once it has synced.
func (c *Cache) readable(ctx context.Context, key kindKey, k *kind, namespace string) (*watch, error) {
	c.mu.RLock()
	w := c.watches[watchKey{key, namespace}]
	c.mu.RUnlock()
	if w == nil {
		if c.opts.ReaderFailOnMissingInformer {
			return nil, &crcache.ErrResourceNotCached{GVK: key.gvk}
		}
		var err error
		if w, err = c.opened(key, k, namespace); err != nil {
			return nil, err
		}
	}
	if !c.isStarted() {
		return nil, &crcache.ErrCacheNotStarted{}
	}
	return w, w.sync(ctx)
}

// opened returns a watch, and makes it if there is none.
func (c *Cache) opened(key kindKey, k *kind, namespace string) (*watch, error) {
	if err := c.probe(key, k.scopes[namespace]); err != nil { // without a lock, as in open
		return nil, fmt.Errorf("ctrlcache: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watch(key, k, namespace)
}

// decode decodes an entry into an object of the caller.
func (w *watch) decode(e *store.Entry, into crclient.Object) error {
	other, foreign := into.(runtime.Unstructured)
	if foreign = foreign && !object.Untyped(into); !foreign {
		return w.in.Decode(e, into)
	}
	u, err := w.feed.New()
	if err == nil {
		err = w.in.Decode(e, u)
	}
	if err == nil {
		other.SetUnstructuredContent(u.(runtime.Unstructured).UnstructuredContent())
	}
	return err
}

// List implements client.Reader, in the order of the keys. A field selector needs an index of IndexField for
// each of its fields.
//
// Objects that cannot be used do not hide the others: the list has those, and the error is a *[ListError].
// Other errors are those of Get.
func (c *Cache) List(ctx context.Context, list crclient.ObjectList, opts ...crclient.ListOption) error {
	o := crclient.ListOptions{}
	o.ApplyOptions(opts)
	found, err := c.find(ctx, list, &o)
	if err != nil {
		return err
	}
	plain := o.UnsafeDisableDeepCopy != nil && *o.UnsafeDisableDeepCopy
	items := []runtime.Object{}
	var bad []error
	for obj, err := range found.decoded(plain) {
		if err != nil {
			bad = append(bad, err)
			continue
		}
		if items = append(items, obj); o.Limit > 0 && int64(len(items)) == o.Limit {
			break
		}
	}
	if err := apimeta.SetList(list, items); err != nil {
		return err
	}
	list.SetContinue("continue-not-supported")
	if len(bad) > 0 {
		return &ListError{Kind: found.key.gvk, Rejected: bad}
	}
	return nil
}

// ListError says that objects are missing in a list, since they cannot be used: they cannot be decoded, or an index
// function failed on them. The list has all others. The text has the first five.
type ListError struct {
	Kind schema.GroupVersionKind
	// Rejected has a *store.RejectedError for each of them.
	Rejected []error
}

func (e *ListError) Error() string {
	const most = 5
	more := ""
	if n := len(e.Rejected) - most; n > 0 {
		more = fmt.Sprintf("\nand %d more", n)
	}
	return fmt.Sprintf("list of %s: %d objects are left out, since they cannot be used: %v%s",
		e.Kind.Kind, len(e.Rejected), errors.Join(e.Rejected[:min(most, len(e.Rejected))]...), more)
}

// Unwrap returns Rejected.
func (e *ListError) Unwrap() []error { return e.Rejected }

// found are the entries that a list selects, by watch, in the order of namespaces.
type found struct {
	key     kindKey
	q       informer.Query
	watches []*watch
	entries []iter.Seq[*store.Entry]
	// mixed says that the first watch has all namespaces that no other one has.
	mixed bool
}

// item is an entry of a watch.
type item struct {
	w *watch
	e *store.Entry
}

// find returns the entries that a list selects.
func (c *Cache) find(ctx context.Context, proto runtime.Object, o *crclient.ListOptions) (*found, error) {
	if o.Continue != "" {
		return nil, errors.New("continue list option is not supported by the cache")
	}
	key, k, err := c.readKind(proto)
	if err != nil {
		return nil, err
	}
	q := informer.Query{Namespace: o.Namespace, Labels: o.LabelSelector, EvenUnavailable: true, Lent: true}
	if o.FieldSelector != nil {
		if q.Where, err = condition(o); err != nil {
			return nil, err
		}
	}
	namespaces := slices.Sorted(maps.Keys(k.scopes))
	if o.Namespace != metav1.NamespaceAll {
		scope, ok := k.scopes.holding(o.Namespace)
		if !ok {
			return nil, fmt.Errorf("unable to list: %v because of unknown namespace for the cache", o.Namespace)
		}
		namespaces = []string{scope}
	}
	f := &found{key: key, q: q, mixed: len(namespaces) > 1 && namespaces[0] == metav1.NamespaceAll}
	for _, namespace := range namespaces {
		w, err := c.readable(ctx, key, k, namespace)
		if err != nil {
			return nil, err
		}
		entries, err := w.entries(ctx, q)
		switch {
		case errors.As(err, new(*informer.NamespaceError)) && w.kind.ClusterScoped: // it has namespaces now
			return nil, fmt.Errorf("unable to list: %v because of unknown namespace for the cache", o.Namespace)
		case errors.As(err, new(*informer.NamespaceError)):
			continue // the selectors exclude all of it
		case errors.As(err, new(*store.UnknownIndexError)):
			return nil, fmt.Errorf("list by %s: an index does not exist: %w", o.FieldSelector, err)
		case err != nil:
			return nil, err
		}
		if w.in.Kind().ClusterScoped && o.Namespace != metav1.NamespaceAll {
			continue // no such object is in a namespace
		}
		f.watches, f.entries = append(f.watches, w), append(f.entries, entries)
	}
	return f, nil
}

// entries returns the entries that a query selects. It waits for an index that is being built, as reads of the
// default cache do, until ctx ends.
func (w *watch) entries(ctx context.Context, q informer.Query) (iter.Seq[*store.Entry], error) {
	for {
		all, err := w.in.Entries(q)
		if !errors.As(err, new(*store.IndexPendingError)) {
			return all, err
		}
		if ended := run.Sleep(ctx, 10*time.Millisecond); ended != nil {
			return nil, fmt.Errorf("%w: %w", ended, err)
		}
	}
}

var errNotExact = errors.New("non-exact field matches are not supported by the cache")

// condition returns the condition of a field selector.
func condition(o *crclient.ListOptions) (store.Cond, error) {
	var all []store.Cond
	for _, r := range o.FieldSelector.Requirements() {
		if r.Operator != selection.Equals && r.Operator != selection.DoubleEquals {
			return nil, errNotExact
		}
		all = append(all, store.Is(fieldIndex+r.Field, r.Value))
	}
	if len(all) == 0 {
		return nil, errNotExact
	}
	return store.And(all...), nil
}

// all yields the entries in the order of their keys.
func (f *found) all() iter.Seq[item] {
	if f.mixed {
		return interleaved(f.from(0, 1), f.from(1, len(f.watches)))
	}
	return f.from(0, len(f.watches))
}

// from yields the entries of some of the watches, one watch after the other.
func (f *found) from(first, end int) iter.Seq[item] {
	return func(yield func(item) bool) {
		for i := first; i < end; i++ {
			for e := range f.entries[i] {
				if !yield(item{f.watches[i], e}) {
					return
				}
			}
		}
	}
}

// interleaved yields two sequences that are each in the order of keys as one.
func interleaved(a, b iter.Seq[item]) iter.Seq[item] {
	return func(yield func(item) bool) {
		next, stop := iter.Pull(a)
		defer stop()
		x, ok := next()
		for y := range b {
			for ; ok && x.e.Key().Compare(y.e.Key()) < 0; x, ok = next() {
				if !yield(x) {
					return
				}
			}
			if !yield(y) {
				return
			}
		}
		for ; ok && yield(x); x, ok = next() {
		}
	}
}

// decoded yields the objects.
func (f *found) decoded(plain bool) iter.Seq2[object.Object, error] {
	return func(yield func(object.Object, error) bool) {
		for i := range f.all() {
			obj, err := i.w.feed.New()
			if err == nil {
				err = i.w.in.Decode(i.e, obj)
			}
			if err != nil {
				obj = nil
			} else if plain || i.w.unsafe {
				objects.Untag(obj)
			}
			if !yield(obj, err) {
				return
			}
		}
	}
}

// What the names of indexes begin with: those of IndexField, and those of AddIndexers.
const (
	fieldIndex = "field:"
	funcIndex  = "func:"
)

// IndexField implements client.FieldIndexer, before or while the cache runs. The function shares its object with
// handlers and other index functions, and must not change it. An object for which it panics is rejected.
func (c *Cache) IndexField(ctx context.Context, obj crclient.Object, field string, extract crclient.IndexerFunc) error {
	if extract == nil {
		return fmt.Errorf("ctrlcache: index %q: the function is nil", field)
	}
	key, err := keyOf(c.opts.Scheme, obj)
	if err != nil {
		return err
	}
	in, err := c.informer(ctx, key, crcache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	return in.addIndex(fieldIndex+field, func(o runtime.Object) ([]string, error) {
		return extract(o.(crclient.Object)), nil
	})
}
