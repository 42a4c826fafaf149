package ctrlcache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/flyball-io/flyball/adapter/internal/objects"
	"github.com/flyball-io/flyball/adapter/internal/synced"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/run"
)

// Cache is a cache.Cache of controller-runtime that holds objects packed. [New] makes one. Any goroutine may
// call its methods.
type Cache struct {
	o     Options
	opts  crcache.Options
	conn  *connection
	plan  *plan
	lists *reflector.Limiter

	begun   atomic.Bool   // Start was called
	started chan struct{} // closed by Start

	mu        sync.RWMutex
	group     *run.Group      // nil until Start
	ctx       context.Context // of group
	kinds     map[schema.GroupVersionKind]*kind
	watches   map[watchKey]*watch
	informers map[kindKey]*Informer
	budgets   map[schema.GroupVersionKind]*informer.Budget
	waiting   []task // until Start
}

var (
	_ crcache.Cache = (*Cache)(nil)

	errStarted = errors.New("informer already started") // the text of the default cache
	errStopped = errors.New("the cache is stopped")
	errRemoved = errors.New("the informer is removed")
)

// task is what runs in a goroutine of its own.
type task struct {
	name string
	run  func(context.Context) error
}

// kind is a resource and its scopes.
type kind struct {
	informer.Kind
	scopes scopes
}

func newCache(cfg *rest.Config, opts crcache.Options, o Options) (*Cache, error) {
	conn, err := connect(cfg, &opts, o.Logger)
	if err != nil {
		return nil, fmt.Errorf("ctrlcache: %w", err)
	}
	c := &Cache{
		o: o, opts: opts, conn: conn,
		lists:     reflector.NewLimiter(reflector.LimiterOptions{}),
		started:   make(chan struct{}),
		kinds:     map[schema.GroupVersionKind]*kind{},
		watches:   map[watchKey]*watch{},
		informers: map[kindKey]*Informer{},
		budgets:   map[schema.GroupVersionKind]*informer.Budget{},
	}
	c.plan, err = newPlan(&opts, func(obj crclient.Object) (schema.GroupVersionKind, bool, error) {
		key, err := keyOf(opts.Scheme, obj)
		if err != nil {
			return key.gvk, false, err
		}
		namespaced, err := apiutil.IsGVKNamespaced(key.gvk, opts.Mapper)
		return key.gvk, namespaced, err
	})
	if err == nil {
		err = c.probeTransforms()
	}
	if err != nil {
		return nil, fmt.Errorf("ctrlcache: %w", err)
	}
	return c, nil
}

// probeTransforms finds transforms of ByObject that return another type.
func (c *Cache) probeTransforms() error {
	for obj := range c.opts.ByObject {
		key, err := keyOf(c.opts.Scheme, obj)
		if err != nil {
			return err
		}
		for _, s := range c.plan.kinds[key.gvk] {
			if err := c.probe(key, s); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Cache) probe(key kindKey, s crcache.Config) error {
	if s.Transform == nil || stripsManagedFields(s.Transform) {
		return nil
	}
	o, err := key.newObject(c.opts.Scheme)
	if err != nil {
		return err
	}
	return objects.Probe(key.gvk, s.Transform, o)
}

// Start runs the watches until ctx ends, and those that are added meanwhile. It returns when all have ended.
func (c *Cache) Start(ctx context.Context) error {
	if !c.begun.CompareAndSwap(false, true) {
		return errStarted
	}
	defer register(c)() // first: a handler of an object may read the metrics
	c.mu.Lock()
	c.group, c.ctx = run.New(ctx)
	for _, w := range c.watches {
		c.start(w)
	}
	for _, t := range c.waiting {
		c.group.Go(t.name, t.run)
	}
	c.waiting = nil
	c.mu.Unlock()
	close(c.started)
	defer c.conn.close()

	<-c.ctx.Done()
	err := c.group.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// goLocked starts a goroutine, now or when the cache starts. It returns false if the cache is stopped.
func (c *Cache) goLocked(name string, f func(context.Context) error) bool {
	if c.group == nil {
		c.waiting = append(c.waiting, task{name, f})
		return true
	}
	return c.ctx.Err() == nil && c.group.Go(name, f)
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: the cache runs on every replica.
func (c *Cache) NeedLeaderElection() bool { return false }

// WaitForCacheSync waits until the cache is started and all of its present watches have synced. It returns
// false if ctx ends first.
func (c *Cache) WaitForCacheSync(ctx context.Context) bool {
	select {
	case <-c.started:
	case <-ctx.Done():
		return false
	}
	for _, w := range c.present() {
		if w.sync(ctx) != nil && !errors.Is(context.Cause(w.ctx), errRemoved) {
			return false
		}
	}
	return ctx.Err() == nil
}

// present returns the watches.
func (c *Cache) present() []*watch {
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := make([]*watch, 0, len(c.watches))
	for _, w := range c.watches {
		all = append(all, w)
	}
	return all
}

// kind returns the resource of a kind. Errors are those of the mapper.
func (c *Cache) kind(gvk schema.GroupVersionKind) (*kind, error) {
	c.mu.RLock()
	k := c.kinds[gvk]
	c.mu.RUnlock()
	if k != nil {
		return k, nil
	}
	m, err := c.opts.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	cluster := m.Scope.Name() == meta.RESTScopeNameRoot
	return &kind{
		Kind:   informer.Kind{GVK: gvk, Resource: m.Resource, ClusterScoped: cluster},
		scopes: c.plan.of(gvk, cluster),
	}, nil
}

// GetInformer returns the informer of the kind of an object, and makes it if there is none. Unless
// BlockUntilSynced(false) is given, it waits until a started informer has synced, or ctx ends.
func (c *Cache) GetInformer(ctx context.Context, obj crclient.Object, opts ...crcache.InformerGetOption) (crcache.Informer, error) {
	key, err := keyOf(c.opts.Scheme, obj)
	if err != nil {
		return nil, err
	}
	return c.shown(ctx, key, opts...)
}

// GetInformerForKind is GetInformer for the Go type of a kind.
func (c *Cache) GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind, opts ...crcache.InformerGetOption) (crcache.Informer, error) {
	if _, err := c.opts.Scheme.New(gvk); err != nil {
		return nil, err
	}
	return c.shown(ctx, kindKey{gvk: gvk}, opts...)
}

func (c *Cache) shown(ctx context.Context, key kindKey, opts ...crcache.InformerGetOption) (crcache.Informer, error) {
	in, err := c.informer(ctx, key, opts...)
	if err != nil {
		return nil, err
	}
	return in.shown(), nil
}

func (c *Cache) informer(ctx context.Context, key kindKey, opts ...crcache.InformerGetOption) (*Informer, error) {
	k, err := c.kind(key.gvk)
	if err != nil {
		return nil, err
	}
	in, err := c.open(key, k)
	if err != nil {
		return nil, err
	}
	o := crcache.InformerGetOptions{}
	for _, opt := range opts {
		opt(&o)
	}
	if o.BlockUntilSynced != nil && !*o.BlockUntilSynced || !c.isStarted() {
		return in, nil
	}
	for _, w := range in.watches {
		if err := w.sync(ctx); err != nil {
			return nil, err
		}
	}
	return in, nil
}

func (c *Cache) isStarted() bool {
	select {
	case <-c.started:
		return true
	default:
		return false
	}
}

// open returns the informer of a kind, with a watch for each of its scopes.
func (c *Cache) open(key kindKey, k *kind) (*Informer, error) {
	c.mu.RLock()
	in := c.informers[key]
	c.mu.RUnlock()
	if in != nil {
		return in, nil
	}
	for _, s := range k.scopes { // a transform may read the cache: no lock is held
		if err := c.probe(key, s); err != nil {
			return nil, fmt.Errorf("ctrlcache: %w", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if in := c.informers[key]; in != nil {
		return in, nil
	}
	in = &Informer{c: c, key: key}
	in.indexers.Store(&toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
	in.synced = synced.New(in.Name())
	in.checker = in.synced.Checker
	for namespace := range k.scopes {
		w, err := c.watch(key, k, namespace)
		if err != nil {
			return nil, err
		}
		in.watches = append(in.watches, w)
	}
	in.share()
	c.informers[key] = in
	c.goLocked(in.Name(), in.awaitSync)
	return in, nil
}

// RemoveInformer ends the watches of a kind, and its handlers. It does not wait for them.
func (c *Cache) RemoveInformer(_ context.Context, obj crclient.Object) error {
	key, err := keyOf(c.opts.Scheme, obj)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.informers, key)
	others := false
	for at, w := range c.watches {
		switch {
		case at.kindKey == key:
			delete(c.watches, at)
			w.remove(c.group != nil)
		case at.gvk == key.gvk:
			others = true
		}
	}
	if !others {
		delete(c.kinds, key.gvk) // it may come back as another resource
	}
	return nil
}
