package ctrl

import (
	"context"
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// Cache is a cache.Cache of controller-runtime over that of a manager, for sources of kinds and for indexes.
// Both sides share one watch of each kind. It runs with the manager. Any goroutine may call its methods.
type Cache struct {
	*clientOf
	mgr *flyball.Manager

	mu        sync.Mutex
	group     *run.Group // nil while the manager does not run
	informers map[kindForm]*Informer
	waiting   []*registration // of handlers that were added before the manager ran
}

// kindForm is a kind in one form: typed, unstructured or metadata only.
type kindForm struct {
	gvk  schema.GroupVersionKind
	form string
}

var _ crcache.Cache = (*Cache)(nil)

// cacheName is the name of a Cache among the members of its manager.
const cacheName = "controller-runtime's event handlers"

// NewCache returns the cache of a manager. It has one: a second one is an error.
func NewCache(mgr *flyball.Manager) (*Cache, error) {
	c := &Cache{clientOf: newClient(mgr, mgr.Client()), mgr: mgr, informers: map[kindForm]*Informer{}}
	_, err := mgr.Add(flyball.Sync, cacheName, c.run)
	if taken, ok := errors.AsType[*flyball.DuplicateNameError](err); ok {
		return nil, fmt.Errorf("ctrl: the manager has a Cache of this package already, share that one: %w", taken)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// run runs the handlers while the manager runs.
func (c *Cache) run(ctx context.Context) error {
	c.mu.Lock()
	group, within := run.New(ctx)
	c.group = group
	for _, r := range c.waiting {
		group.Go("event handler", r.run)
	}
	c.waiting = nil
	c.mu.Unlock()
	<-within.Done()
	c.mu.Lock()
	c.group = nil
	c.mu.Unlock()
	if err := group.Wait(); ctx.Err() == nil {
		return err
	}
	return nil
}

// start runs a registration, at once or when the manager runs.
func (c *Cache) start(r *registration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.group == nil {
		c.waiting = append(c.waiting, r)
		return
	}
	c.group.Go("event handler", r.run)
}

// GetInformer implements cache.Informers: it opens the kind of obj. Unless BlockUntilSynced(false) is given, it
// waits until a kind of a running manager has synced.
func (c *Cache) GetInformer(ctx context.Context, obj crclient.Object, opts ...crcache.InformerGetOption) (crcache.Informer, error) {
	kind, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return nil, err
	}
	return c.informer(ctx, obj, kind, opts)
}

// GetInformerForKind implements cache.Informers, for the Go type of a kind.
func (c *Cache) GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind, opts ...crcache.InformerGetOption) (crcache.Informer, error) {
	obj, err := c.Scheme().New(gvk)
	if err != nil {
		return nil, err
	}
	return c.informer(ctx, obj, gvk, opts)
}

func (c *Cache) informer(ctx context.Context, of runtime.Object, kind schema.GroupVersionKind, opts []crcache.InformerGetOption) (crcache.Informer, error) {
	proto, err := newLike(of, kind, c.Scheme())
	if err != nil {
		return nil, err
	}
	in, running, err := c.opened(ctx, proto, formOf(kind, proto))
	if err != nil {
		return nil, err
	}
	o := crcache.InformerGetOptions{}
	for _, opt := range opts {
		opt(&o)
	}
	if !running || o.BlockUntilSynced != nil && !*o.BlockUntilSynced {
		return in, nil
	}
	return in, in.sync(ctx)
}

func formOf(kind schema.GroupVersionKind, o runtime.Object) kindForm {
	return kindForm{kind, fmt.Sprintf("%T", o)}
}

// opened returns the informer of a kind, and whether the manager runs.
func (c *Cache) opened(ctx context.Context, proto object.Object, key kindForm) (*Informer, bool, error) {
	c.mu.Lock()
	in, running := c.informers[key], c.group != nil
	c.mu.Unlock()
	if in != nil {
		return in, running, nil
	}
	handle, err := c.mgr.Cache().Open(ctx, proto, client.Selection{})
	if err != nil {
		return nil, false, translate(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if in := c.informers[key]; in != nil { // another call was quicker
		handle.Close()
		return in, c.group != nil, nil
	}
	in = &Informer{cache: c, proto: proto, handle: handle, removed: make(chan struct{})}
	c.informers[key] = in
	return in, c.group != nil, nil
}

// RemoveInformer implements cache.Informers: it ends the handlers of the kind, and the watch too if nobody else
// uses it.
func (c *Cache) RemoveInformer(_ context.Context, obj crclient.Object) error {
	kind, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return err
	}
	proto, err := newLike(obj, kind, c.Scheme())
	if err != nil {
		return err
	}
	c.mu.Lock()
	in := c.informers[formOf(kind, proto)]
	delete(c.informers, formOf(kind, proto))
	c.mu.Unlock()
	if in != nil {
		in.remove()
	}
	return nil
}

// Start implements cache.Informers. The cache runs with its manager; Start only waits until ctx ends.
func (c *Cache) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// WaitForCacheSync implements cache.Informers: it waits for all kinds that are open in the cache of the
// manager.
func (c *Cache) WaitForCacheSync(ctx context.Context) bool {
	return c.mgr.Cache().WaitForSync(ctx) == nil
}

// IndexField implements client.FieldIndexer, before or while the manager runs. Lists that the cache answers
// use the index by a field selector of its name. An object for which the function panics is rejected.
func (c *Cache) IndexField(_ context.Context, obj crclient.Object, field string, extract crclient.IndexerFunc) error {
	if extract == nil {
		return fmt.Errorf("ctrl: index %q: the function is nil", field)
	}
	kind, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return err
	}
	proto, err := newLike(obj, kind, c.Scheme())
	if err != nil {
		return err
	}
	if _, metadata := proto.(*metav1.PartialObjectMetadata); metadata {
		return fmt.Errorf("ctrl: index %q: an index needs whole objects of %s, not their metadata", field, kind.Kind)
	}
	return c.mgr.Cache().AddIndex(kind, field, indexer{proto, extract})
}

// indexer implements store.Indexer.
type indexer struct {
	proto   object.Object
	extract crclient.IndexerFunc
}

// Values implements store.Indexer.
func (i indexer) Values(e *store.Entry) ([]string, error) {
	obj, err := decodedLike(i.proto)(e)
	if err != nil {
		return nil, err
	}
	return i.extract(obj), nil
}

// decodedLike returns the decode of objects of a kind that is known at run time.
func decodedLike(proto object.Object) decode[crclient.Object] {
	return func(e *store.Entry) (crclient.Object, error) {
		obj := fresh(proto)
		if err := e.Decode(obj); err != nil {
			return nil, err
		}
		untag(obj)
		return obj, nil
	}
}

var errRemoved = errors.New("the informer was removed")

// sync waits until the informers have synced.
func (in *Informer) sync(ctx context.Context) error {
	for _, one := range in.handle.Informers() {
		select {
		case <-one.Synced():
		case <-one.Done():
			return informer.ErrStopped
		case <-in.removed:
			return errRemoved
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
