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

// Options says what a Cache holds of each kind. The zero value works: everything of what is
// opened. They are read by New.
type Options struct {
	// Namespaces restricts namespaced kinds to these, with a watch for each. Nil: all, with one
	// watch. To read another namespace is then a *informer.NamespaceError; to list without a namespace
	// lists these.
	Namespaces []string
	// Kinds says what is special about single kinds.
	Kinds []KindOptions
	// Resync is the period of handlers that do not name their own, and of controllers of a manager
	// that do not; see controller.Options. Zero or negative: never.
	Resync time.Duration
	// Audit is about how often the metadata of each kind is listed and compared with what is held, to
	// find and mend what its watch has lost; see [informer.Options] for what it costs. Zero: 6 h.
	// Negative: never.
	Audit time.Duration
	// KeepManagedFields keeps metadata.managedFields of every kind; see KindOptions for one alone.
	// By default they are cut from every object as it arrives: what is read has none. They are half
	// of most objects, and writing one without them leaves those on the server as they are.
	KeepManagedFields bool
	// GoHeap keeps what is held in the heap of the Go runtime, where GOMEMLIMIT and GOGC count it: the
	// heap may then grow to twice of it before garbage is collected. By default most of it is outside
	// of that heap, where the system lets it be; see Memory.OffHeapBytes for what follows.
	GoHeap bool
	// MemoryBudget is how many bytes each kind should hold at most, all of its watches together;
	// KindOptions may name another. A kind that holds more says so, and goes on: it drops nothing
	// and refuses nothing. See [informer.Budget]. Zero or negative: none.
	MemoryBudget int64
	// Configure may change the options of each informer before it is made; see
	// [informer.FactoryOptions]. It comes after everything else. Nil: none.
	Configure func(*informer.Options)
	// OnProblem is told what informers report; see [informer.Options].
	OnProblem func(informer.Problem)
	// Limiter spreads the lists of all kinds. Nil: one with the defaults of its options, eight lists
	// at a time and a hundred a second.
	Limiter *reflector.Limiter
	// Logger is where a person is told. Nil: slog.Default().
	Logger *slog.Logger
}

// KindOptions says what is special about one kind.
type KindOptions struct {
	Kind schema.GroupVersionKind
	// Namespaces replaces Options.Namespaces. Nil: that.
	Namespaces []string
	// Labels and Fields restrict what is held. Whatever does not match is not found by reads.
	Labels labels.Selector
	Fields fields.Selector
	// Transform changes each version of a whole object before it is held; see [informer.Options].
	// What is held as metadata only does not go through it.
	Transform func(object.Object) error
	// KeepManagedFields keeps metadata.managedFields of this kind, whatever Options.KeepManagedFields
	// says: for a program that looks at who set which field.
	KeepManagedFields bool
	// MemoryBudget replaces Options.MemoryBudget. Zero: that. Negative: none.
	MemoryBudget int64
	// Audit replaces Options.Audit. Zero: that. Negative: never.
	Audit time.Duration
	// OpenOnRead lets the first read open the kind, and wait until it has synced or the ctx of the
	// read ends. It stays open. There is no such option for all kinds at once.
	OpenOnRead bool
}

// Cache holds the kinds that were opened and answers reads of them. It implements client.Reader
// and client.Pager. All methods may be called from any goroutine.
type Cache struct {
	conn    informer.Connection
	o       Options
	special map[schema.GroupVersionKind]KindOptions
	factory *informer.Factory
	budgets sync.Map // of *informer.Budget, by kind
	types   sync.Map // of *held, by Go type: what reads into it have found; changed with mu held
	changed sync.Map // the kinds that go through a transform

	mu      sync.Mutex
	kinds   map[schema.GroupVersionKind]*held
	metas   map[schema.GroupVersionKind]*held
	indexes map[schema.GroupVersionKind]map[string]store.Indexer
}

var (
	_ client.Reader = (*Cache)(nil)
	_ client.Pager  = (*Cache)(nil)
)

// held is what reads of a kind are answered from. It does not change, but for users, which the
// mutex of the cache guards.
type held struct {
	kind       informer.Kind
	namespaces []string // sorted; [""] is all
	shares     []*informer.Share
	views      sync.Map // of *wire.Projection, by the Go type of views
	users      int
}

// New returns a cache that holds nothing. It starts nothing.
func New(conn informer.Connection, o Options) (*Cache, error) {
	c := &Cache{
		conn: conn, o: o,
		special: make(map[schema.GroupVersionKind]KindOptions),
		kinds:   make(map[schema.GroupVersionKind]*held),
		metas:   make(map[schema.GroupVersionKind]*held),
		indexes: make(map[schema.GroupVersionKind]map[string]store.Indexer),
	}
	for _, k := range o.Kinds {
		if _, twice := c.special[k.Kind]; twice {
			return nil, fmt.Errorf("cache: Options.Kinds: %s: %w", k.Kind, ErrDuplicateKind)
		}
		c.special[k.Kind] = k
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

// configure sets what is special about a kind.
func (c *Cache) configure(o *informer.Options) {
	special := c.special[o.Kind.GVK]
	o.KeepManagedFields = c.o.KeepManagedFields || special.KeepManagedFields
	if special.Audit != 0 {
		o.Audit = special.Audit
	}
	o.Budget, o.GoHeap = c.budget(o.Kind.GVK), c.o.GoHeap
	if !o.Selection.MetadataOnly {
		o.Transform = special.Transform
	}
	if c.o.Configure != nil {
		c.o.Configure(o)
	}
	if o.Transform != nil {
		c.changed.Store(o.Kind.GVK, struct{}{})
	}
}

// Run runs the informers of what is open, and of what is opened meanwhile, until ctx ends. It
// returns when all have ended, with the cause. It may be called again after it returned: every
// kind that is open starts afresh, with its indexes and without the registrations.
func (c *Cache) Run(ctx context.Context) error { return c.factory.Run(ctx) }

// WaitForSync returns nil when every kind that is open has synced, or an *informer.SyncError that
// names those that have not, and why, when ctx ends first.
func (c *Cache) WaitForSync(ctx context.Context) error { return c.factory.WaitForSync(ctx) }

// Watch is one list and watch of the cache.
type Watch struct {
	Kind      informer.Kind
	Selection client.Selection
	State     informer.State
	Figures   informer.Figures
}

// Watches says where each watch stands, in the order of the kinds.
func (c *Cache) Watches() []Watch {
	var all []Watch
	for _, in := range c.factory.Informers() {
		all = append(all, Watch{Kind: in.Kind(), Selection: in.Selection(), State: in.State(), Figures: in.Figures()})
	}
	return all
}

// Open declares a kind and returns a counted handle to it. The kind is that of the Go type of
// proto, or the one that an unstructured or metadata-only proto names. The watch starts when the
// cache runs, at once if it does already, and ends when the last handle is closed. ctx bounds the
// question to the server which resource serves the kind.
//
// A kind that is not served yet may be opened: it counts as namespaced for as long as any handle is
// open. If it comes as a cluster-scoped one, and Options.Namespaces or KindOptions.Namespaces name
// some, each of them has a watch of the whole kind, and every Get and List by name is a
// *informer.NamespaceError. So open such a kind when it is served (see client.Mapper), or set its
// KindOptions.Namespaces to []string{""}.
//
// With the zero Selection the handle is to what the options say, and reads of the kind are
// answered from it. For a metadata-only proto that is a watch of metadata, unless whole objects,
// and no metadata, are held already. With any other Selection it is to a watch of its own, which reads do not see.
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

// open returns a handle to what reads are answered from.
func (c *Cache) open(kind informer.Kind, metadata bool) (*Handle, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.heldAs(kind.GVK, metadata)
	h := all[kind.GVK]
	if h == nil {
		var err error
		if h, err = c.hold(kind, metadata); err != nil {
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

// heldAs is where a kind is held, or to be held, that is opened or read as whole objects or as
// metadata. Metadata may be that of whole objects, but not once it has a watch of its own: who is
// told of changes by the one watch must not read from the other, which may be behind. c.mu is held.
func (c *Cache) heldAs(gvk schema.GroupVersionKind, metadata bool) map[schema.GroupVersionKind]*held {
	if metadata && (c.metas[gvk] != nil || c.kinds[gvk] == nil) {
		return c.metas
	}
	return c.kinds
}

func (h *held) close() {
	for _, s := range h.shares {
		s.Close()
	}
}

// hold opens the informers of a kind: one for each namespace.
func (c *Cache) hold(kind informer.Kind, metadata bool) (*held, error) {
	special := c.special[kind.GVK]
	h := &held{kind: kind, namespaces: []string{metav1.NamespaceAll}}
	names := c.o.Namespaces
	if special.Namespaces != nil {
		names = special.Namespaces
	}
	if len(names) > 0 && !kind.ClusterScoped && !slices.Contains(names, metav1.NamespaceAll) {
		h.namespaces = slices.Compact(slices.Sorted(slices.Values(names)))
	}
	for _, ns := range h.namespaces {
		share, err := c.factory.OpenKind(kind, client.Selection{
			Namespace: ns, Labels: special.Labels, Fields: special.Fields, MetadataOnly: metadata,
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

// addIndexes gives an informer the indexes of its kind. They are of whole objects.
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
