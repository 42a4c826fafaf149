// Package controllerruntime holds objects in controller-runtime's cache.
package controllerruntime

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	crreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flyball-io/flyball/lab/bench/contender"
	"github.com/flyball-io/flyball/lab/bench/contender/clientgo"
	"github.com/flyball-io/flyball/lab/bench/corpus"
)

// Library is controller-runtime.
var Library = With(contender.ControllerRuntime, crcache.New, func(crcache.Cache) int64 { return 0 })

// With is controller-runtime with another cache. held returns the bytes that the cache holds outside the Go heap.
func With(name string, newCache crcache.NewCacheFunc, held func(crcache.Cache) int64) contender.Library {
	open := func(o contender.Options) (contender.Contender, error) { return open(o, newCache, held) }
	return contender.Library{Name: name, New: open, NewQueue: newQueue}
}

type holder struct {
	o     contender.Options
	make  crcache.NewCacheFunc
	held  func(crcache.Cache) int64
	cache crcache.Cache
	run   func(context.Context) error
}

func open(o contender.Options, newCache crcache.NewCacheFunc, held func(crcache.Cache) int64) (contender.Contender, error) {
	klog.SetLogger(logr.Discard()) // its messages are expected
	log.SetLogger(logr.Discard())
	c := &holder{o: o, make: newCache, held: held}
	build := c.buildCache
	if o.Reconcile {
		build = c.buildManager
	}
	co := crcache.Options{Scheme: corpus.Scheme, Mapper: o.Mapper()}
	if o.Best {
		co.DefaultTransform = crcache.TransformStripManagedFields()
	}
	if err := build(co); err != nil {
		return nil, err
	}
	for _, k := range o.Kinds {
		byIndex := func(obj crclient.Object) []string { return []string{contender.IndexValue(obj)} }
		if err := c.cache.IndexField(context.Background(), k.Blank(), contender.IndexPath(k.Resource), byIndex); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// config returns the configuration with the content type of the kinds. Without one, as with kinds of
// several, controller-runtime chooses protobuf for each kind that has it.
func (c *holder) config() *rest.Config {
	cfg := rest.CopyConfig(c.o.Config)
	cfg.ContentType = c.o.Kinds[0].ContentType
	for _, k := range c.o.Kinds {
		if k.ContentType != cfg.ContentType {
			cfg.ContentType = ""
		}
	}
	cfg.AcceptContentTypes = cfg.ContentType
	return cfg
}

// buildCache makes a cache without a manager.
func (c *holder) buildCache(co crcache.Options) (err error) {
	c.cache, err = c.make(c.config(), co)
	c.run = func(ctx context.Context) error {
		for number, k := range c.o.Kinds {
			if err := c.handle(ctx, number, k); err != nil {
				return err
			}
		}
		return c.cache.Start(ctx)
	}
	return err
}

// handle adds the handlers of a kind.
func (c *holder) handle(ctx context.Context, number int, k contender.Kind) error {
	inf, err := c.cache.GetInformer(ctx, k.Blank(), crcache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	handlers := []toolscache.ResourceEventHandler{clientgo.OnVersion(func(version string) { c.o.OnEvent(number, version) })}
	if c.o.Blocked != nil && number == 0 {
		handlers = append(handlers, clientgo.Every(func(any) { c.o.Blocked() }))
	}
	for _, h := range handlers {
		if _, err := inf.AddEventHandler(h); err != nil {
			return err
		}
	}
	return nil
}

// buildManager makes a complete program, with a controller of each kind that reads each changed
// object.
func (c *holder) buildManager(co crcache.Options) error {
	mgr, err := manager.New(c.config(), manager.Options{
		Scheme: corpus.Scheme, Cache: co, NewCache: c.make, Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard(),
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return c.o.Mapper(), nil },
		Client:         crclient.Options{Cache: &crclient.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		return err
	}
	c.cache, c.run = mgr.GetCache(), mgr.Start
	for number, k := range c.o.Kinds {
		r := crreconcile.Func(func(ctx context.Context, req crreconcile.Request) (crreconcile.Result, error) {
			obj := k.Blank()
			if err := mgr.GetClient().Get(ctx, req.NamespacedName, obj); err != nil {
				return crreconcile.Result{}, crclient.IgnoreNotFound(err)
			}
			c.o.OnEvent(number, obj.GetResourceVersion())
			return crreconcile.Result{}, nil
		})
		if err := builder.ControllerManagedBy(mgr).Named("bench-" + k.GVR.Resource).For(k.Blank()).Complete(r); err != nil {
			return err
		}
	}
	return nil
}

// Run implements contender.Contender.
func (c *holder) Run(ctx context.Context) error { return c.run(ctx) }

// WaitForSync implements contender.Contender.
func (c *holder) WaitForSync(ctx context.Context) error {
	for _, k := range c.o.Kinds {
		inf, err := c.cache.GetInformer(ctx, k.Blank(), crcache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		if !inf.HasSynced() {
			return errors.New("not synced")
		}
	}
	return nil
}

// Get implements contender.Contender.
func (c *holder) Get(key contender.Key) error {
	return c.cache.Get(context.Background(), crclient.ObjectKey{Namespace: key.Key.Namespace, Name: key.Key.Name}, c.o.Kinds[key.Kind].Blank())
}

// ByIndex implements contender.Contender.
func (c *holder) ByIndex(kind int, value string) (int, error) {
	k := c.o.Kinds[kind]
	return c.list(k, crclient.MatchingFields{contender.IndexPath(k.Resource): value})
}

// Some implements contender.Contender.
func (c *holder) Some(kind int, value string, few int) (int, error) {
	k := c.o.Kinds[kind]
	return c.list(k, crclient.MatchingFields{contender.IndexPath(k.Resource): value}, crclient.Limit(few))
}

// ByLabel implements contender.Contender.
func (c *holder) ByLabel(kind int, namespace, value string) (int, error) {
	return c.list(c.o.Kinds[kind], crclient.InNamespace(namespace), crclient.MatchingLabels{contender.AppLabel: value})
}

func (c *holder) list(k contender.Kind, opts ...crclient.ListOption) (int, error) {
	l := blankList(k)
	if err := c.cache.List(context.Background(), l, opts...); err != nil {
		return 0, err
	}
	return meta.LenList(l), nil
}

// blankList returns an empty list of the kind, in the held form.
func blankList(k contender.Kind) crclient.ObjectList {
	kind := k.GVK.GroupVersion().WithKind(k.GVK.Kind + "List")
	switch k.View {
	case contender.Metadata:
		l := &metav1.PartialObjectMetadataList{}
		l.SetGroupVersionKind(kind)
		return l
	case contender.Unstructured:
		l := &unstructured.UnstructuredList{}
		l.SetGroupVersionKind(kind)
		return l
	}
	typed, err := corpus.Scheme.New(kind)
	if err != nil {
		panic(err) // every kind has one
	}
	return typed.(crclient.ObjectList)
}

// Held implements contender.Contender.
func (c *holder) Held() int64 { return c.held(c.cache) }
