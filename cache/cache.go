package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// Options say what a Cache holds of each kind. The zero value works: all objects of the open kinds.
// New reads them once.
type Options struct {
	// Namespaces restricts namespaced kinds to these namespaces, with one watch for each. A read of
	// another namespace is then an *informer.NamespaceError. A list without a namespace lists
	// these. Nil means all namespaces, with one watch.
	Namespaces []string
	// Kinds are the options of single kinds. A kind may be there several times, with Namespaces that
	// differ: then each watch of a namespace has selectors and a transform of its own.
	Kinds []KindOptions
	// Resync is the resync period of handlers, and of controllers of a manager, that set none; see
	// controller.Options. Zero or negative means never.
	Resync time.Duration
	// Audit is the approximate interval of audits. An audit lists each kind, to find and repair lost
	// events of its watch. See [informer.Options] for its cost. Zero means 6 h. Negative means never.
	Audit time.Duration
	// KeepManagedFields keeps metadata.managedFields of every kind. See KindOptions for a single
	// kind. By default the cache removes them from every object on arrival, so reads return none.
	// They are half of most objects. An update without them leaves those on the server unchanged.
	KeepManagedFields bool
	// GoHeap keeps held objects in the heap of the Go runtime, where GOMEMLIMIT and GOGC count
	// them. The heap may then grow to twice their size before garbage is collected. By default most
	// of them are outside of that heap, where the system permits it: GOMEMLIMIT and GOGC do not count
	// them, but the limit of a container does. Set GOMEMLIMIT to that limit, less the OffHeap of all
	// Watches and a tenth. OffHeap includes unused chunks until the next collection: up to 16 MiB, or
	// a quarter of all memory if that is more.
	GoHeap bool
	// MemoryBudget is the budget of each kind in bytes, all of its watches together; KindOptions
	// may override it. A kind above its budget reports that and goes on. It drops and rejects
	// nothing. See [informer.Budget]. Zero or negative means none.
	MemoryBudget int64
	// Configure may change the options of each informer before it is made. It is called after all
	// other options are applied, and again for every run. It may set a Transform, an index or another
	// Resync. It must not change the kind or the selection, and must not call the cache. Nil means
	// none.
	Configure func(*informer.Options)
	// Labels and Fields restrict the held objects of every kind. Those of KindOptions replace them.
	// Reads do not find any other object.
	Labels labels.Selector
	Fields fields.Selector
	// OnProblem receives the problems that informers report; see [informer.Options].
	OnProblem func(informer.Problem)
	// Limiter spreads the lists of all kinds. Nil means one with default options: eight lists at a
	// time and a hundred a second.
	Limiter *reflector.Limiter
	// Logger is the log. Nil means slog.Default().
	Logger *slog.Logger
}

// KindOptions are the options of one kind, or of its objects in some namespaces. OpenOnRead and
// MemoryBudget are of the whole kind: set them once.
type KindOptions struct {
	Kind schema.GroupVersionKind
	// Namespaces replaces Options.Namespaces. Nil means no replacement.
	Namespaces []string
	// Labels and Fields replace those of Options. Nil means no replacement.
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

// Cache shares one informer for each kind and selection among those who open it, counts them, and
// answers reads of open kinds. It implements client.Reader and client.PartialReader. Any
// goroutine may call its methods.
type Cache struct {
	conn        Connection
	o           Options
	overrides   map[schema.GroupVersionKind][]KindOptions
	types       sync.Map // of *openKind, by Go type: resolved reads; written with mu held
	transformed sync.Map // kinds with a transform

	mu      sync.Mutex
	shared  map[selectionKey]*shared
	kinds   map[schema.GroupVersionKind]*openKind
	metas   map[schema.GroupVersionKind]*openKind
	indexes map[schema.GroupVersionKind]map[string]store.Indexer
	budgets map[schema.GroupVersionKind]*informer.Budget
	group   *run.Group      // nil while the cache does not run
	ctx     context.Context // of group
}

var (
	_ client.Reader        = (*Cache)(nil)
	_ client.PartialReader = (*Cache)(nil)
)

// openKind is one open kind with its informers, one for each namespace. users counts its handles;
// Cache.mu guards it.
type openKind struct {
	kind       informer.Kind
	namespaces []string // sorted; [""] means all
	shares     []*shared
	users      int
	readBy     map[schema.GroupVersionKind]*openKind // the map of the cache that has it; nil: none
}

// New returns an empty cache. It starts no goroutine and sends no request.
func New(conn Connection, o Options) (*Cache, error) {
	switch {
	case conn.Source == nil:
		return nil, &option.Error{Of: "cache.Connection", Field: "Source", Err: errors.New("is nil")}
	case conn.Mapping == nil:
		return nil, &option.Error{Of: "cache.Connection", Field: "Mapping", Err: errors.New("is nil")}
	}
	if o.Limiter == nil {
		o.Limiter = reflector.NewLimiter(reflector.LimiterOptions{})
	}
	o.Logger = logguard.Logger(o.Logger)
	c := &Cache{
		conn: conn, o: o,
		overrides: make(map[schema.GroupVersionKind][]KindOptions),
		shared:    make(map[selectionKey]*shared),
		kinds:     make(map[schema.GroupVersionKind]*openKind),
		metas:     make(map[schema.GroupVersionKind]*openKind),
		indexes:   make(map[schema.GroupVersionKind]map[string]store.Indexer),
		budgets:   make(map[schema.GroupVersionKind]*informer.Budget),
	}
	if err := c.setKinds(); err != nil {
		return nil, err
	}
	return c, nil
}

// Watch is the state of one list and watch of the cache. A kind has several: of single namespaces, of
// metadata and of other selections. Figures.Store has the number and the size of the held objects, and
// Figures.Budget compares all watches of the kind with its memory budget.
type Watch struct {
	Kind      informer.Kind
	Selection client.Selection
	State     informer.State
	Figures   informer.Figures
}

// Watches returns the state of each watch, in order of kinds. They are read one after another, not as one
// snapshot.
func (c *Cache) Watches() []Watch {
	var all []Watch
	for _, in := range c.informers() {
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
// *informer.NamespaceError. To avoid that, open the kind once it is served (see client.Live.Mapping), or
// set its KindOptions.Namespaces to []string{""}.
//
// With the zero Selection, the handle is to the objects that the options select, and reads of the
// kind use it. For a metadata-only proto that is a watch of metadata. If whole objects are open and
// metadata is not, it is the watch of whole objects instead. With any other Selection, the handle
// has a watch of its own, which reads do not use.
func (c *Cache) Open(ctx context.Context, proto object.Object, sel client.Selection) (*Handle, error) {
	kind, err := c.conn.resolve(ctx, proto)
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	_, metadata := proto.(*metav1.PartialObjectMetadata)
	sel.MetadataOnly = sel.MetadataOnly || metadata
	own := sel.Namespace != "" || sel.Labels != nil || sel.Fields != nil
	return c.open(kind, sel, own)
}

// open returns a handle to a kind as reads use it, or to an own selection, which they do not use.
func (c *Cache) open(kind informer.Kind, sel client.Selection, own bool) (*Handle, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kind.ClusterScoped && len(c.overrides[kind.GVK]) > 1 {
		return nil, badKind(kind.GVK, errors.New("has no namespaces, and is given several times"))
	}
	var k *openKind
	all := c.mapOf(kind.GVK, sel.MetadataOnly)
	if own {
		k = &openKind{kind: kind, namespaces: []string{sel.Namespace}}
	} else if k = all[kind.GVK]; k == nil {
		k = &openKind{kind: kind, namespaces: c.namespaces(kind), readBy: all}
	}
	if k.shares == nil {
		var within []string
		switch {
		case kind.ClusterScoped && !own:
			within = c.chosen(kind.GVK)
		case kind.ClusterScoped && sel.Namespace != "":
			within = []string{sel.Namespace}
		}
		for _, sel.Namespace = range k.namespaces {
			if !own {
				o := c.override(kind.GVK, sel.Namespace)
				sel.Labels, sel.Fields = cmp.Or(o.Labels, c.o.Labels), cmp.Or(o.Fields, c.o.Fields)
			}
			s, err := c.acquire(kind, sel, within)
			if err != nil {
				c.closeKind(k)
				return nil, fmt.Errorf("cache: %w", err)
			}
			k.shares = append(k.shares, s)
		}
		if !own {
			all[kind.GVK] = k
		}
	}
	k.users++
	return &Handle{cache: c, kind: k}, nil
}

// closeKind releases the informers of a kind. c.mu is held.
func (c *Cache) closeKind(k *openKind) {
	if k.readBy != nil {
		delete(k.readBy, k.kind.GVK)
		c.types.Clear()
	}
	for _, s := range k.shares {
		c.release(s)
	}
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
