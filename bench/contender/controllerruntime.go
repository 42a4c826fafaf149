package contender

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	crreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flyball-io/flyball/bench/corpus"
	"github.com/flyball-io/flyball/object"
)

type controllerRuntime struct {
	o     Options
	cache crcache.Cache
	run   func(context.Context) error
}

func newControllerRuntime(o Options) (Contender, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	c := &controllerRuntime{o: o}
	build := c.buildCache
	if o.Reconcile {
		build = c.buildManager
	}
	co := crcache.Options{Scheme: corpus.Scheme, Mapper: o.mapper()}
	if o.Best {
		co.DefaultTransform = crcache.TransformStripManagedFields()
	}
	if err := build(co); err != nil {
		return nil, err
	}
	return c, c.cache.IndexField(context.Background(), o.blank(), indexPath(o.Resource), func(obj crclient.Object) []string { return []string{IndexValue(obj)} })
}

// buildCache makes a cache alone.
func (c *controllerRuntime) buildCache(co crcache.Options) (err error) {
	c.cache, err = crcache.New(c.o.Config, co)
	c.run = func(ctx context.Context) error {
		inf, err := c.cache.GetInformer(ctx, c.o.blank(), crcache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		handlers := []toolscache.ResourceEventHandler{tell(c.o.OnEvent)}
		if c.o.Blocked != nil {
			handlers = append(handlers, every(func(any) { c.o.Blocked() }))
		}
		for _, h := range handlers {
			if _, err := inf.AddEventHandler(h); err != nil {
				return err
			}
		}
		return c.cache.Start(ctx)
	}
	return err
}

// buildManager makes a whole program, with a controller that reads each object that changed.
func (c *controllerRuntime) buildManager(co crcache.Options) error {
	mgr, err := manager.New(c.o.Config, manager.Options{
		Scheme: corpus.Scheme, Cache: co, Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard(),
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return c.o.mapper(), nil },
		Client:         crclient.Options{Cache: &crclient.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		return err
	}
	c.cache, c.run = mgr.GetCache(), mgr.Start
	return builder.ControllerManagedBy(mgr).Named("bench").For(c.o.blank()).Complete(crreconcile.Func(func(ctx context.Context, req crreconcile.Request) (crreconcile.Result, error) {
		obj := c.o.blank()
		if err := mgr.GetClient().Get(ctx, req.NamespacedName, obj); err != nil {
			return crreconcile.Result{}, crclient.IgnoreNotFound(err)
		}
		c.o.OnEvent(obj.GetResourceVersion())
		return crreconcile.Result{}, nil
	}))
}

// Run implements Contender.
func (c *controllerRuntime) Run(ctx context.Context) error { return c.run(ctx) }

// WaitForSync implements Contender.
func (c *controllerRuntime) WaitForSync(ctx context.Context) error {
	inf, err := c.cache.GetInformer(ctx, c.o.blank(), crcache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	if !inf.HasSynced() {
		return errors.New("not synced")
	}
	return nil
}

// Get implements Contender.
func (c *controllerRuntime) Get(key object.Key) error {
	return c.cache.Get(context.Background(), crclient.ObjectKey{Namespace: key.Namespace, Name: key.Name}, c.o.blank())
}

// ByIndex implements Contender.
func (c *controllerRuntime) ByIndex(value string) (int, error) {
	return c.list(crclient.MatchingFields{indexPath(c.o.Resource): value})
}

// ByLabel implements Contender.
func (c *controllerRuntime) ByLabel(namespace, value string) (int, error) {
	return c.list(crclient.InNamespace(namespace), crclient.MatchingLabels{AppLabel: value})
}

func (c *controllerRuntime) list(opts ...crclient.ListOption) (int, error) {
	l := c.o.blankList().(crclient.ObjectList)
	if err := c.cache.List(context.Background(), l, opts...); err != nil {
		return 0, err
	}
	return meta.LenList(l), nil
}

// Held implements Contender.
func (c *controllerRuntime) Held() int64 { return 0 }
