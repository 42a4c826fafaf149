package cache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/store"
)

// Options say what a Cache holds of each kind. The zero value works: all objects of the open kinds.
// New reads them once.
type Options struct {
	// Namespaces restricts namespaced kinds to these namespaces, with one watch for each. A read of
	// another namespace is then an *informer.NamespaceError. A list without a namespace lists
	// these. Nil means all namespaces, with one watch.
	Namespaces []string
	// Kinds are the options of single kinds.
	Kinds []KindOptions
	// Resync is the resync period of handlers, and of controllers of a manager, that set none; see
	// controller.Options. Zero or negative means never.
	Resync time.Duration
	// Audit is the approximate interval of audits. An audit lists the metadata of each kind and
	// compares it with the held objects, to find and repair lost events of its watch. See
	// [informer.Options] for its cost. Zero means 6 h. Negative means never.
	Audit time.Duration
	// KeepManagedFields keeps metadata.managedFields of every kind. See KindOptions for a single
	// kind. By default the cache removes them from every object on arrival, so reads return none.
	// They are half of most objects. An update without them leaves those on the server unchanged.
	KeepManagedFields bool
	// GoHeap keeps held objects in the heap of the Go runtime, where GOMEMLIMIT and GOGC count
	// them. The heap may then grow to twice their size before garbage is collected. By default most
	// of them are outside of that heap, where the system permits it. See Memory.OffHeapBytes for
	// the consequences.
	GoHeap bool
	// MemoryBudget is the budget of each kind in bytes, all of its watches together; KindOptions
	// may override it. A kind above its budget reports that and goes on. It drops and rejects
	// nothing. See [informer.Budget]. Zero or negative means none.
	MemoryBudget int64
	// Configure may change the options of each informer before it is made. It is called after all
	// other options are applied. See [informer.FactoryOptions]. Nil means none.
	Configure func(*informer.Options)
	// OnProblem receives the problems that informers report; see [informer.Options].
	OnProblem func(informer.Problem)
	// Limiter spreads the lists of all kinds. Nil means one with default options: eight lists at a
	// time and a hundred a second.
	Limiter *reflector.Limiter
	// Logger is the log. Nil means slog.Default().
	Logger *slog.Logger
}

// KindOptions are the options of one kind.
type KindOptions struct {
	Kind schema.GroupVersionKind
	// Namespaces replaces Options.Namespaces. Nil means no replacement.
	Namespaces []string
	// Labels and Fields restrict the held objects. Reads do not find any other object.
	Labels labels.Selector
	Fields fields.Selector
	// Transform changes each version of a whole object before it is held; see [informer.Options].
	// Metadata-only objects are not transformed.
	Transform func(object.Object) error
	// KeepManagedFields keeps metadata.managedFields of this kind, whatever
	// Options.KeepManagedFields says: for a program that reads the owners of fields.
	KeepManagedFields bool
	// MemoryBudget replaces Options.MemoryBudget. Zero means no replacement. Negative means no
	// budget.
	MemoryBudget int64
	// Audit replaces Options.Audit. Zero means no replacement. Negative means never.
	Audit time.Duration
	// OpenOnRead lets the first read open the kind. That read waits until the kind has synced or
	// the ctx of the read ends. The kind stays open. There is no such option for all kinds at once.
	OpenOnRead bool
}

// Cache holds the open kinds and answers reads of them. It implements client.Reader and
// client.Pager. Any goroutine may call its methods.
type Cache struct {
	conn        informer.Connection
	o           Options
	overrides   map[schema.GroupVersionKind]KindOptions
	factory     *informer.Factory
	budgets     sync.Map // of *informer.Budget, by kind
	types       sync.Map // of *openKind, by Go type: resolved reads; written with mu held
	transformed sync.Map // kinds with a transform

	mu      sync.Mutex
	kinds   map[schema.GroupVersionKind]*openKind
	metas   map[schema.GroupVersionKind]*openKind
	indexes map[schema.GroupVersionKind]map[string]store.Indexer
}

var (
	_ client.Reader = (*Cache)(nil)
	_ client.Pager  = (*Cache)(nil)
)

// openKind is one open kind, from which reads are answered. Only users changes; the cache's mutex
// guards it.
type openKind struct {
	kind       informer.Kind
	namespaces []string // sorted; [""] means all
	shares     []*informer.Share
	views      sync.Map // of *wire.Projection, by the Go type of views
	users      int
}

// New returns an empty cache. It starts no goroutine and sends no request.
func New(conn informer.Connection, o Options) (*Cache, error) {
	c := &Cache{
		conn: conn, o: o,
		overrides: make(map[schema.GroupVersionKind]KindOptions),
		kinds:     make(map[schema.GroupVersionKind]*openKind),
		metas:     make(map[schema.GroupVersionKind]*openKind),
		indexes:   make(map[schema.GroupVersionKind]map[string]store.Indexer),
	}
	for _, k := range o.Kinds {
		if _, twice := c.overrides[k.Kind]; twice {
			return nil, fmt.Errorf("cache: Options.Kinds: %s: %w", k.Kind, ErrDuplicateKind)
		}
		c.overrides[k.Kind] = k
	}
	var err error
	c.factory, err = informer.NewFactory(conn, informer.FactoryOptions{
		Resync: o.Resync, Audit: o.Audit, Configure: c.configure, OnProblem: o.OnProblem, Limiter: o.Limiter, Logger: o.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	return c, nil
}

// configure applies the options of a kind.
func (c *Cache) configure(o *informer.Options) {
	override := c.overrides[o.Kind.GVK]
	o.KeepManagedFields = c.o.KeepManagedFields || override.KeepManagedFields
	if override.Audit != 0 {
		o.Audit = override.Audit
	}
	o.Budget, o.GoHeap = c.budget(o.Kind.GVK), c.o.GoHeap
	if !o.Selection.MetadataOnly {
		o.Transform = override.Transform
	}
	if c.o.Configure != nil {
		c.o.Configure(o)
	}
	if o.Transform != nil {
		c.transformed.Store(o.Kind.GVK, struct{}{})
	}
}

// Run runs the informers of open kinds, and of kinds opened later, until ctx ends. It returns the
// cause of ctx when all informers have ended. It may be called again after it has returned. Then
// every open kind starts afresh, with its indexes and without its registrations.
func (c *Cache) Run(ctx context.Context) error { return c.factory.Run(ctx) }

// WaitForSync waits until every open kind has synced, and returns nil. If ctx ends first, it
// returns an *informer.SyncError with the kinds that have not synced, and the reasons.
func (c *Cache) WaitForSync(ctx context.Context) error { return c.factory.WaitForSync(ctx) }

// Watch is the state of one list and watch of the cache.
type Watch struct {
	Kind      informer.Kind
	Selection client.Selection
	State     informer.State
	Figures   informer.Figures
}

// Watches returns the state of each watch, in order of kinds.
func (c *Cache) Watches() []Watch {
	var all []Watch
	for _, in := range c.factory.Informers() {
		all = append(all, Watch{Kind: in.Kind(), Selection: in.Selection(), State: in.State(), Figures: in.Figures()})
	}
	return all
}

// Open declares a kind and returns a counted handle to it. The kind is that of the Go type of
// proto, or the one that an unstructured or metadata-only proto names. The watch starts when the
// cache runs, or at once if it runs already. It ends when the last handle is closed. ctx bounds the
// request for the resource of the kind.
//
// A kind that is not served yet may be opened. It counts as namespaced while any handle is open. If
// it turns out to be cluster-scoped, and Options.Namespaces or KindOptions.Namespaces are set, each
// of these namespaces has a watch of the whole kind. Every Get, and every List by name, is then an
// *informer.NamespaceError. To avoid that, open the kind once it is served (see client.Mapper), or
// set its KindOptions.Namespaces to []string{""}.
//
// With the zero Selection, the handle is to the objects that the options select, and reads of the
// kind use it. For a metadata-only proto that is a watch of metadata. If whole objects are open and
// metadata is not, it is the watch of whole objects instead. With any other Selection, the handle
// has a watch of its own, which reads do not use.
func (c *Cache) Open(ctx context.Context, proto object.Object, sel client.Selection) (*Handle, error) {
	kind, err := c.conn.Resolve(ctx, proto)
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	_, metadata := proto.(*metav1.PartialObjectMetadata)
	sel.MetadataOnly = sel.MetadataOnly || metadata
	if sel.Namespace != "" || sel.Labels != nil || sel.Fields != nil {
		share, err := c.factory.OpenKind(kind, sel)
		if err != nil {
			return nil, fmt.Errorf("cache: %w", err)
		}
		return &Handle{shares: []*informer.Share{share}, release: share.Close}, nil
	}
	return c.open(kind, sel.MetadataOnly)
}

// open returns a handle to the kind as reads use it.
func (c *Cache) open(kind informer.Kind, metadata bool) (*Handle, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.mapOf(kind.GVK, metadata)
	h := all[kind.GVK]
	if h == nil {
		var err error
		if h, err = c.openInformers(kind, metadata); err != nil {
			return nil, err
		}
		all[kind.GVK] = h
	}
	h.users++
	return &Handle{shares: h.shares, release: func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if h.users--; h.users > 0 {
			return
		}
		delete(all, kind.GVK)
		c.types.Clear()
		h.close()
	}}, nil
}

// mapOf returns the map that has, or will have, a kind opened or read as whole objects or as
// metadata. Metadata may come from whole objects, but not once it has a watch of its own. A
// subscriber of one watch must not read from the other, which may be behind. c.mu is held.
func (c *Cache) mapOf(gvk schema.GroupVersionKind, metadata bool) map[schema.GroupVersionKind]*openKind {
	if metadata && (c.metas[gvk] != nil || c.kinds[gvk] == nil) {
		return c.metas
	}
	return c.kinds
}

func (h *openKind) close() {
	for _, s := range h.shares {
		s.Close()
	}
}

// openInformers opens the informers of a kind, one for each namespace.
func (c *Cache) openInformers(kind informer.Kind, metadata bool) (*openKind, error) {
	override := c.overrides[kind.GVK]
	h := &openKind{kind: kind, namespaces: []string{metav1.NamespaceAll}}
	names := c.o.Namespaces
	if override.Namespaces != nil {
		names = override.Namespaces
	}
	if len(names) > 0 && !kind.ClusterScoped && !slices.Contains(names, metav1.NamespaceAll) {
		h.namespaces = slices.Compact(slices.Sorted(slices.Values(names)))
	}
	for _, ns := range h.namespaces {
		share, err := c.factory.OpenKind(kind, client.Selection{
			Namespace: ns, Labels: override.Labels, Fields: override.Fields, MetadataOnly: metadata,
		})
		if err == nil {
			h.shares = append(h.shares, share)
			err = c.addIndexes(kind.GVK, metadata, share)
		}
		if err != nil {
			h.close()
			return nil, fmt.Errorf("cache: %w", err)
		}
	}
	return h, nil
}

// addIndexes adds the declared indexes of a kind to an informer. Metadata has none.
func (c *Cache) addIndexes(gvk schema.GroupVersionKind, metadata bool, share *informer.Share) error {
	if metadata {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.indexes[gvk])) {
		err := share.IndexEntries(name, c.indexes[gvk][name])
		if taken := (*store.IndexExistsError)(nil); err != nil && !errors.As(err, &taken) {
			return err
		}
	}
	return nil
}
