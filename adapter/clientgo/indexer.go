package clientgo

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/ahead"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// indexer reads the packed store as a toolscache.Indexer. Each read decodes into objects of the caller.
type indexer struct{ in *Informer }

var _ toolscache.Indexer = (*indexer)(nil)

// opened returns the informer of Flyball, or why there is none.
func (x *indexer) opened() (*informer.Informer, error) {
	if packed := x.in.packed.Load(); packed != nil {
		return packed, nil
	}
	return nil, x.in.Err()
}

// entries returns the entries that a query selects.
func (x *indexer) entries(q informer.Query) (iter.Seq[*store.Entry], error) {
	packed, err := x.opened()
	if err != nil {
		return nil, err
	}
	q.EvenUnavailable = true // as in client-go, what was seen last
	all, err := packed.Entries(q)
	if errors.As(err, new(*informer.NamespaceError)) {
		return func(func(*store.Entry) bool) {}, nil
	}
	return all, err
}

// decoded returns the objects of entries. Several goroutines decode many of them ahead. What cannot be decoded is
// left out: it is reported to OnProblem and the log.
func (x *indexer) decoded(all iter.Seq[*store.Entry]) []any {
	var objs []any
	for o, err := range ahead.Map(all, (*store.Entry).Size, x.decode) {
		if err == nil {
			objs = append(objs, o)
		}
	}
	return objs
}

func (x *indexer) decode(e *store.Entry) (object.Object, error) {
	packed, err := x.opened()
	if err != nil {
		return nil, err
	}
	o, err := x.in.newObject(packed.Kind().GVK)
	if err == nil {
		err = packed.Decode(e, o)
	}
	if err != nil {
		return nil, err
	}
	x.in.clean(o)
	return o, nil
}

// List returns all objects, in the order of their keys. Before the first list is complete it is empty; see Readable.
func (x *indexer) List() []any {
	all, err := x.entries(informer.Query{})
	if err != nil {
		return nil
	}
	return x.decoded(all)
}

func keys(all iter.Seq[*store.Entry]) []string {
	var keys []string
	for e := range all {
		keys = append(keys, keyOf(e.Key()))
	}
	return keys
}

func keyOf(k object.Key) string {
	return toolscache.ObjectName{Namespace: k.Namespace, Name: k.Name}.String()
}

// ListKeys decodes nothing.
func (x *indexer) ListKeys() []string {
	all, err := x.entries(informer.Query{})
	if err != nil {
		return nil
	}
	return keys(all)
}

// Get is GetByKey for the key of an object, or of a DeletedFinalStateUnknown.
func (x *indexer) Get(obj any) (item any, exists bool, err error) {
	key, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return nil, false, toolscache.KeyError{Obj: obj, Err: err}
	}
	return x.GetByKey(key)
}

// GetByKey returns the object of a key. Before the first list is complete it returns an error, not an absent object.
func (x *indexer) GetByKey(key string) (item any, exists bool, err error) {
	packed, err := x.opened()
	if err != nil {
		return nil, false, err
	}
	name, err := toolscache.ParseObjectName(key)
	if err != nil {
		return nil, false, err
	}
	if packed.Kind().ClusterScoped && name.Namespace != "" {
		return nil, false, nil
	}
	e, err := packed.Entry(object.Key{Namespace: name.Namespace, Name: name.Name}, informer.EvenUnavailable)
	if errors.As(err, new(*client.NotFoundError)) || errors.As(err, new(*informer.NamespaceError)) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	o, err := x.decode(e)
	if err != nil {
		return nil, false, err
	}
	return o, true, nil
}

// byNamespace reports whether an index is that of client-go by namespace. The store has it anyway.
func byNamespace(name string, f toolscache.IndexFunc) bool {
	return name == toolscache.NamespaceIndex && reflect.ValueOf(f).Pointer() == reflect.ValueOf(toolscache.MetaNamespaceIndexFunc).Pointer()
}

// with returns the entries that an index has under one of some values.
func (x *indexer) with(name string, values ...string) (iter.Seq[*store.Entry], error) {
	f, ok := x.GetIndexers()[name]
	if !ok {
		return nil, noIndex(name)
	}
	if !byNamespace(name, f) {
		var any []store.Cond
		for _, v := range values {
			any = append(any, store.Is(name, v))
		}
		return x.entries(informer.Query{Where: store.Or(any...)})
	}
	packed, err := x.opened()
	if err != nil {
		return nil, err
	}
	if packed.Kind().ClusterScoped {
		if slices.Contains(values, "") {
			return x.entries(informer.Query{})
		}
		values = nil
	}
	var parts []iter.Seq[*store.Entry]
	for _, v := range values {
		if v == "" {
			continue // every object has a namespace
		}
		part, err := x.entries(informer.Query{Namespace: v})
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return func(yield func(*store.Entry) bool) {
		for _, part := range parts {
			for e := range part {
				if !yield(e) {
					return
				}
			}
		}
	}, nil
}

func noIndex(name string) error {
	return fmt.Errorf("clientgo: index with name %s does not exist", name)
}

// Index implements toolscache.Indexer.
func (x *indexer) Index(name string, obj any) ([]any, error) {
	f, ok := x.GetIndexers()[name]
	if !ok {
		return nil, noIndex(name)
	}
	values, err := f(obj)
	if err != nil {
		return nil, err
	}
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	all, err := x.with(name, values...)
	if err != nil {
		return nil, err
	}
	return x.decoded(all), nil
}

// ByIndex implements toolscache.Indexer.
func (x *indexer) ByIndex(name, value string) ([]any, error) {
	all, err := x.with(name, value)
	if err != nil {
		return nil, err
	}
	return x.decoded(all), nil
}

// IndexKeys decodes nothing.
func (x *indexer) IndexKeys(name, value string) ([]string, error) {
	all, err := x.with(name, value)
	if err != nil {
		return nil, err
	}
	return keys(all), nil
}

// ListIndexFuncValues implements toolscache.Indexer. The values are sorted.
func (x *indexer) ListIndexFuncValues(name string) []string {
	f, ok := x.GetIndexers()[name]
	if !ok {
		return nil
	}
	if byNamespace(name, f) {
		var values []string
		all, err := x.entries(informer.Query{})
		if err != nil {
			return nil
		}
		for e := range all {
			values = append(values, e.Key().Namespace)
		}
		return slices.Compact(values) // in the order of keys
	}
	packed, err := x.opened()
	if err != nil {
		return nil
	}
	snapshot, err := packed.Snapshot(informer.EvenUnavailable)
	if err != nil {
		return nil
	}
	values, err := snapshot.IndexValues(name)
	if err != nil {
		return nil
	}
	return slices.Collect(values)
}

// GetIndexers implements toolscache.Indexer. The caller owns the map.
func (x *indexer) GetIndexers() toolscache.Indexers { return maps.Clone(*x.in.indexers.Load()) }

// AddIndexers implements toolscache.Indexer.
func (x *indexer) AddIndexers(all toolscache.Indexers) error { return x.in.AddIndexers(all) }

// AddIndexers implements SharedIndexInformer, before or while the informer runs. The functions share their objects
// with handlers, and must not change them. An object for which one fails or panics is rejected: reads do not have
// it, and OnProblem and the log name it. If a name is taken or a function is nil, none is added.
func (in *Informer) AddIndexers(all toolscache.Indexers) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.stopped {
		return fmt.Errorf("clientgo: %s: indexer was not added because it has stopped already", in.Name())
	}
	next := maps.Clone(*in.indexers.Load())
	for name, f := range all {
		if f == nil {
			return fmt.Errorf("clientgo: %s: the function of index %q is nil", in.Name(), name)
		}
		if _, taken := next[name]; taken {
			return fmt.Errorf("clientgo: %s: indexer conflict: there is an index %q", in.Name(), name)
		}
		next[name] = f
	}
	if in.feed != nil {
		for name, f := range all {
			if err := in.addIndex(name, f); err != nil {
				return fmt.Errorf("clientgo: %w", err)
			}
		}
	}
	in.indexers.Store(&next)
	return nil
}

// addIndex adds an index to the store. in.mu is held.
func (in *Informer) addIndex(name string, f toolscache.IndexFunc) error {
	if byNamespace(name, f) {
		return nil
	}
	return in.feed.AddIndex(name, func(o runtime.Object) ([]string, error) { return f(o) })
}

// LastStoreSyncResourceVersion implements toolscache.Store.
func (x *indexer) LastStoreSyncResourceVersion() string { return x.in.LastSyncResourceVersion() }

func (x *indexer) refuse(verb string) error {
	return fmt.Errorf("clientgo: %s in the store of the %s: %w", verb, x.in.Name(), ErrReadOnly)
}

// The writes of toolscache.Store are refused.

func (x *indexer) Add(any) error               { return x.refuse("Add") }
func (x *indexer) Update(any) error            { return x.refuse("Update") }
func (x *indexer) Delete(any) error            { return x.refuse("Delete") }
func (x *indexer) Replace([]any, string) error { return x.refuse("Replace") }
func (x *indexer) Resync() error               { return x.refuse("Resync") }

// Bookmark has no error to return: it does nothing, and the log says so.
func (x *indexer) Bookmark(string) {
	x.in.s.c.Logger.Warn("a write to a packed cache is ignored", "err", x.refuse("Bookmark"))
}
