// Package indexer reads a packed informer as a toolscache.Indexer.
package indexer

import (
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// ErrReadOnly is the error of writes to a store: only the watch writes.
var ErrReadOnly = errors.New("the packed cache is read-only: only its watch writes")

// Source is what an [Indexer] reads.
type Source struct {
	// Package and Name are in errors: the package of the informer, and its name.
	Package, Name string
	// Informer returns the informer of Flyball, or why there is none.
	Informer func() (*informer.Informer, error)
	// New returns an empty object of the kind. Clean is called with each decoded one.
	New   func(schema.GroupVersionKind) (object.Object, error)
	Clean func(object.Object)
	// Indexers returns the index functions, in a map that nobody changes. Add adds some.
	Indexers func() toolscache.Indexers
	Add      func(toolscache.Indexers) error
	// Prefix is what the names of their indexes in the store begin with.
	Prefix string
	Logger *slog.Logger
}

// Indexer reads the packed store as a toolscache.Indexer. Each read decodes into objects of the caller.
type Indexer struct{ of Source }

// New returns the indexer of a source. All of its fields but Prefix are set.
func New(of Source) *Indexer { return &Indexer{of} }

var _ toolscache.Indexer = (*Indexer)(nil)

// entries returns the entries that a query selects. Each is lent until the next one.
func (x *Indexer) entries(q informer.Query) (iter.Seq[*store.Entry], error) {
	packed, err := x.of.Informer()
	if err != nil {
		return nil, err
	}
	q.EvenUnavailable = true // as in client-go, what was seen last
	q.Lent = true
	all, err := packed.Entries(q)
	if errors.As(err, new(*informer.NamespaceError)) {
		return func(func(*store.Entry) bool) {}, nil
	}
	return all, err
}

// decoded returns the objects of entries. What cannot be decoded is left out: it is reported to OnProblem and the log.
func (x *Indexer) decoded(all iter.Seq[*store.Entry]) []any {
	var objs []any
	for e := range all {
		if o, err := x.decode(e); err == nil {
			objs = append(objs, o)
		}
	}
	return objs
}

func (x *Indexer) decode(e *store.Entry) (object.Object, error) {
	packed, err := x.of.Informer()
	if err != nil {
		return nil, err
	}
	o, err := x.of.New(packed.Kind().GVK)
	if err == nil {
		err = packed.Decode(e, o)
	}
	if err != nil {
		return nil, err
	}
	x.of.Clean(o)
	return o, nil
}

// List returns all objects, in the order of their keys. Before the first list is complete it is empty; the error of Get says why.
func (x *Indexer) List() []any {
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
func (x *Indexer) ListKeys() []string {
	all, err := x.entries(informer.Query{})
	if err != nil {
		return nil
	}
	return keys(all)
}

// Get is GetByKey for the key of an object, or of a DeletedFinalStateUnknown.
func (x *Indexer) Get(obj any) (item any, exists bool, err error) {
	key, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return nil, false, toolscache.KeyError{Obj: obj, Err: err}
	}
	return x.GetByKey(key)
}

// GetByKey returns the object of a key. Before the first list is complete it returns an error, not an absent object.
func (x *Indexer) GetByKey(key string) (item any, exists bool, err error) {
	packed, err := x.of.Informer()
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

// ByNamespace reports whether an index is that of client-go by namespace. The store has it anyway.
func ByNamespace(name string, f toolscache.IndexFunc) bool {
	return name == toolscache.NamespaceIndex && reflect.ValueOf(f).Pointer() == reflect.ValueOf(toolscache.MetaNamespaceIndexFunc).Pointer()
}

// selection is what an index selects. unknown has an error for each object that no index has: nobody knows whether it
// belongs there. It is complete when all was read.
type selection struct {
	all     iter.Seq[*store.Entry]
	unknown []error
}

// with returns the entries that an index has under one of some values.
func (x *Indexer) with(name string, values ...string) (*selection, error) {
	f, ok := x.of.Indexers()[name]
	if !ok {
		return nil, x.noIndex(name)
	}
	if !ByNamespace(name, f) {
		var any []store.Cond
		for _, v := range values {
			any = append(any, store.Is(x.of.Prefix+name, v))
		}
		return x.selected(informer.Query{Where: store.Or(any...)})
	}
	packed, err := x.of.Informer()
	if err != nil {
		return nil, err
	}
	if packed.Kind().ClusterScoped {
		if slices.Contains(values, "") {
			all, err := x.entries(informer.Query{})
			return &selection{all: all}, err
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
	return &selection{all: func(yield func(*store.Entry) bool) {
		for _, part := range parts {
			for e := range part {
				if !yield(e) {
					return
				}
			}
		}
	}}, nil
}

// selected returns what a condition selects.
func (x *Indexer) selected(q informer.Query) (*selection, error) {
	packed, err := x.of.Informer()
	if err != nil {
		return nil, err
	}
	all, err := x.entries(q)
	if err != nil {
		return nil, err
	}
	s := &selection{}
	s.all = func(yield func(*store.Entry) bool) {
		for e := range all {
			if e.Err() != nil {
				_, err := q.Header(packed, e)
				s.unknown = append(s.unknown, err)
			} else if !yield(e) {
				return
			}
		}
	}
	return s, nil
}

func (x *Indexer) noIndex(name string) error {
	return fmt.Errorf("%s: index with name %s does not exist", x.of.Package, name)
}

// Index implements toolscache.Indexer. It, ByIndex and IndexKeys return all that is known to belong there. The error joins
// a *store.RejectedError for each object that no index has.
func (x *Indexer) Index(name string, obj any) ([]any, error) {
	f, ok := x.of.Indexers()[name]
	if !ok {
		return nil, x.noIndex(name)
	}
	values, err := f(obj)
	if err != nil {
		return nil, err
	}
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	found, err := x.with(name, values...)
	if err != nil {
		return nil, err
	}
	objs := x.decoded(found.all)
	return objs, errors.Join(found.unknown...)
}

// ByIndex implements toolscache.Indexer.
func (x *Indexer) ByIndex(name, value string) ([]any, error) {
	found, err := x.with(name, value)
	if err != nil {
		return nil, err
	}
	objs := x.decoded(found.all)
	return objs, errors.Join(found.unknown...)
}

// IndexKeys decodes nothing.
func (x *Indexer) IndexKeys(name, value string) ([]string, error) {
	found, err := x.with(name, value)
	if err != nil {
		return nil, err
	}
	names := keys(found.all)
	return names, errors.Join(found.unknown...)
}

// ListIndexFuncValues implements toolscache.Indexer. The values are sorted.
func (x *Indexer) ListIndexFuncValues(name string) []string {
	f, ok := x.of.Indexers()[name]
	if !ok {
		return nil
	}
	if ByNamespace(name, f) {
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
	packed, err := x.of.Informer()
	if err != nil {
		return nil
	}
	snapshot, err := packed.Snapshot(informer.EvenUnavailable)
	if err != nil {
		return nil
	}
	values, err := snapshot.IndexValues(x.of.Prefix + name)
	if err != nil {
		return nil
	}
	return slices.Collect(values)
}

// GetIndexers implements toolscache.Indexer. The caller owns the map.
func (x *Indexer) GetIndexers() toolscache.Indexers { return maps.Clone(x.of.Indexers()) }

// AddIndexers implements toolscache.Indexer.
func (x *Indexer) AddIndexers(all toolscache.Indexers) error { return x.of.Add(all) }

// LastStoreSyncResourceVersion is the version up to which reads show every event, and empty before the first list
// is complete. That of the informer may be ahead.
func (x *Indexer) LastStoreSyncResourceVersion() string {
	packed, err := x.of.Informer()
	if err != nil {
		return ""
	}
	return packed.Version()
}

func (x *Indexer) refuse(verb string) error {
	return fmt.Errorf("%s: %s in the store of the %s: %w", x.of.Package, verb, x.of.Name, ErrReadOnly)
}

// The writes of toolscache.Store are refused.

func (x *Indexer) Add(any) error               { return x.refuse("Add") }
func (x *Indexer) Update(any) error            { return x.refuse("Update") }
func (x *Indexer) Delete(any) error            { return x.refuse("Delete") }
func (x *Indexer) Replace([]any, string) error { return x.refuse("Replace") }
func (x *Indexer) Resync() error               { return x.refuse("Resync") }

// Bookmark has no error to return: it does nothing, and the log says so.
func (x *Indexer) Bookmark(string) {
	x.of.Logger.Warn("a write to a packed cache is ignored", "err", x.refuse("Bookmark"))
}
