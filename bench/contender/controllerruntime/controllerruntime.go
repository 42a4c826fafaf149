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

	"github.com/flyball-io/flyball/bench/contender"
	"github.com/flyball-io/flyball/bench/contender/clientgo"
	"github.com/flyball-io/flyball/bench/corpus"
	"github.com/flyball-io/flyball/object"
)

// Library is controller-runtime.
var Library = contender.Library{Name: contender.ControllerRuntime, New: open, NewQueue: newQueue}

type holder struct {
	o     contender.Options
	cache crcache.Cache
	run   func(context.Context) error
}

func open(o contender.Options) (contender.Contender, error) {
	klog.SetLogger(logr.Discard()) // its messages are expected
	log.SetLogger(logr.Discard())
	c := &holder{o: o}
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
	return c, c.cache.IndexField(context.Background(), o.Blank(), contender.IndexPath(o.Resource), func(obj crclient.Object) []string { return []string{contender.IndexValue(obj)} })
}

// buildCache makes a cache without a manager.
func (c *holder) buildCache(co crcache.Options) (err error) {
	c.cache, err = crcache.New(c.o.Config, co)
	c.run = func(ctx context.Context) error {
		inf, err := c.cache.GetInformer(ctx, c.o.Blank(), crcache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		handlers := []toolscache.ResourceEventHandler{clientgo.Tell(c.o.OnEvent)}
		if c.o.Blocked != nil {
			handlers = append(handlers, clientgo.Every(func(any) { c.o.Blocked() }))
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

// buildManager makes a complete program, with a controller that reads each changed object.
func (c *holder) buildManager(co crcache.Options) error {
	mgr, err := manager.New(c.o.Config, manager.Options{
		Scheme: corpus.Scheme, Cache: co, Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard(),
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return c.o.Mapper(), nil },
		Client:         crclient.Options{Cache: &crclient.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		return err
	}
	c.cache, c.run = mgr.GetCache(), mgr.Start
	return builder.ControllerManagedBy(mgr).Named("bench").For(c.o.Blank()).Complete(crreconcile.Func(func(ctx context.Context, req crreconcile.Request) (crreconcile.Result, error) {
		obj := c.o.Blank()
		if err := mgr.GetClient().Get(ctx, req.NamespacedName, obj); err != nil {
			return crreconcile.Result{}, crclient.IgnoreNotFound(err)
		}
		c.o.OnEvent(obj.GetResourceVersion())
		return crreconcile.Result{}, nil
	}))
}

// Run implements contender.Contender.
func (c *holder) Run(ctx context.Context) error { return c.run(ctx) }

// WaitForSync implements contender.Contender.
func (c *holder) WaitForSync(ctx context.Context) error {
	inf, err := c.cache.GetInformer(ctx, c.o.Blank(), crcache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	if !inf.HasSynced() {
		return errors.New("not synced")
	}
	return nil
}

// Get implements contender.Contender.
func (c *holder) Get(key object.Key) error {
	return c.cache.Get(context.Background(), crclient.ObjectKey{Namespace: key.Namespace, Name: key.Name}, c.o.Blank())
}

// ByIndex implements contender.Contender.
func (c *holder) ByIndex(value string) (int, error) {
	return c.list(crclient.MatchingFields{contender.IndexPath(c.o.Resource): value})
}

// Some implements contender.Contender.
func (c *holder) Some(value string, few int) (int, error) {
	return c.list(crclient.MatchingFields{contender.IndexPath(c.o.Resource): value}, crclient.Limit(few))
}

// ByLabel implements contender.Contender.
func (c *holder) ByLabel(namespace, value string) (int, error) {
	return c.list(crclient.InNamespace(namespace), crclient.MatchingLabels{contender.AppLabel: value})
}

func (c *holder) list(opts ...crclient.ListOption) (int, error) {
	l := blankList(c.o)
	if err := c.cache.List(context.Background(), l, opts...); err != nil {
		return 0, err
	}
	return meta.LenList(l), nil
}

// blankList returns an empty list of the kind, in the held form.
func blankList(o contender.Options) crclient.ObjectList {
	kind := o.Resource.GVK.GroupVersion().WithKind(o.Resource.GVK.Kind + "List")
	switch o.View {
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
func (c *holder) Held() int64 { return 0 }
