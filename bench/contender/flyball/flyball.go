// Package flyball holds objects in Flyball's cache.
package flyball

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/bench/contender"
	"github.com/flyball-io/flyball/bench/corpus"
	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/store"
)

// Library is Flyball.
var Library = contender.Library{Name: contender.Flyball, New: open, NewQueue: newQueue}

type holder struct {
	o      contender.Options
	proto  corpus.Object // names the kind
	run    func(context.Context) error
	cache  *cache.Cache
	handle *cache.Handle
}

func open(o contender.Options) (contender.Contender, error) {
	f := &holder{o: o, proto: o.Blank()}
	build := f.buildCache
	if o.Reconcile {
		build = f.buildManager
	}
	if err := build(cache.Options{KeepManagedFields: o.Keep && !o.Best}); err != nil {
		return nil, err
	}
	if err := f.cache.IndexPath(o.Resource.GVK, contender.IndexPath(o.Resource)); err != nil && o.View != contender.Metadata {
		return nil, err
	}
	var err error
	if f.handle, err = f.cache.Open(context.Background(), f.proto, client.Selection{}); err != nil {
		return nil, err
	}
	if o.Blocked != nil {
		if err := f.block(); err != nil {
			return nil, err
		}
	}
	if !o.Reconcile {
		_, err = f.handle.Subscribe("bench", f.changed)
	}
	return f, err
}

// buildCache makes a cache without a manager.
func (f *holder) buildCache(co cache.Options) error {
	live, err := client.New(f.o.Config, client.Options{Scheme: corpus.Scheme, Mapper: f.o.Mapper()})
	if err != nil {
		return err
	}
	f.cache, err = cache.New(informer.Connect(live), co)
	if err == nil {
		f.run = f.cache.Run
	}
	return err
}

// buildManager makes a complete program, with a controller that reads each changed object.
func (f *holder) buildManager(co cache.Options) error {
	mgr, err := flyball.New(flyball.Options{Name: "bench", Config: f.o.Config, Scheme: corpus.Scheme, Cache: co, Client: client.Options{Mapper: f.o.Mapper()}})
	if err != nil {
		return err
	}
	f.cache, f.run = mgr.Cache(), mgr.Run
	r := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		obj := f.o.Blank()
		if err := f.cache.Get(ctx, req, obj, client.GetOptions{}); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		f.o.OnEvent(obj.GetResourceVersion())
		return reconcile.Result{}, nil
	}
	watched := controller.ForKind[unstructured.Unstructured](f.o.Resource.GVK) // the same watch as for a Go type
	if f.o.View == contender.Metadata {
		watched = controller.ForKind[metav1.PartialObjectMetadata](f.o.Resource.GVK)
	}
	_, err = controller.New(mgr, "bench", r, watched)
	return err
}

func (f *holder) changed(ch store.Change) {
	switch {
	case ch.New != nil:
		f.o.OnEvent(ch.New.ResourceVersion())
	case ch.Last != nil:
		f.o.OnEvent(ch.Last.ResourceVersion())
	}
}

// Run implements contender.Contender.
func (f *holder) Run(ctx context.Context) error { return f.run(ctx) }

// WaitForSync implements contender.Contender.
func (f *holder) WaitForSync(ctx context.Context) error { return f.cache.WaitForSync(ctx) }

// Held implements contender.Contender.
func (f *holder) Held() int64 {
	var held int64
	for _, w := range f.cache.Watches() {
		held += w.Figures.Store.OffHeap
	}
	return held
}
