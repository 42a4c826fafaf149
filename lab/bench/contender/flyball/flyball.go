// Package flyball holds objects in Flyball's cache.
package flyball

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/lab/bench/contender"
	"github.com/flyball-io/flyball/lab/bench/corpus"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/store"
)

// Library is Flyball.
var Library = contender.Library{Name: contender.Flyball, New: open, NewQueue: newQueue}

type holder struct {
	o     contender.Options
	run   func(context.Context) error
	cache *cache.Cache
	kinds []held
}

// held is one kind.
type held struct {
	contender.Kind
	proto  corpus.Object // names the kind
	handle *cache.Handle
}

func open(o contender.Options) (contender.Contender, error) {
	f := &holder{o: o}
	build := f.buildCache
	if o.Reconcile {
		build = f.buildManager
	}
	if err := build(cache.Options{KeepManagedFields: o.Keep && !o.Best}); err != nil {
		return nil, err
	}
	for i, k := range o.Kinds {
		if err := f.open(i, k); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// open opens the watch of a kind, and subscribes to it.
func (f *holder) open(number int, k contender.Kind) error {
	if err := f.cache.AddIndex(k.GVK, contender.IndexPath(k.Resource), informer.IndexPath(contender.IndexPath(k.Resource))); err != nil && k.View != contender.Metadata {
		return err
	}
	h := held{Kind: k, proto: k.Blank()}
	var err error
	if h.handle, err = f.cache.Open(context.Background(), h.proto, client.Selection{}); err != nil {
		return err
	}
	f.kinds = append(f.kinds, h)
	if f.o.Blocked != nil && number == 0 {
		if err := h.block(f.o.Blocked); err != nil {
			return err
		}
	}
	if !f.o.Reconcile {
		_, err = h.handle.Subscribe("bench", func(ch store.Change) { f.changed(number, ch) })
	}
	return err
}

// buildCache makes a cache without a manager.
func (f *holder) buildCache(co cache.Options) error {
	live, err := client.New(f.o.Config, client.Options{Scheme: corpus.Scheme, Mapper: f.o.Mapper()})
	if err != nil {
		return err
	}
	f.cache, err = cache.New(cache.Connect(live), co)
	if err == nil {
		f.run = f.cache.Run
	}
	return err
}

// buildManager makes a complete program, with a controller of each kind that reads each changed
// object.
func (f *holder) buildManager(co cache.Options) error {
	mgr, err := flyball.New(flyball.Options{Name: "bench", Config: f.o.Config, Scheme: corpus.Scheme, Cache: co, Client: client.Options{Mapper: f.o.Mapper()}})
	if err != nil {
		return err
	}
	f.cache, f.run = mgr.Cache(), mgr.Run
	for number, k := range f.o.Kinds {
		r := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			obj := k.Blank()
			if err := f.cache.Get(ctx, req, obj, client.GetOptions{}); err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			f.o.OnEvent(number, obj.GetResourceVersion())
			return reconcile.Result{}, nil
		}
		watched := controller.ForKind[unstructured.Unstructured](k.GVK) // the same watch as for a Go type
		if k.View == contender.Metadata {
			watched = controller.ForKind[metav1.PartialObjectMetadata](k.GVK)
		}
		if _, err := controller.New(mgr, "bench-"+k.GVR.Resource, r, watched); err != nil {
			return err
		}
	}
	return nil
}

func (f *holder) changed(kind int, ch store.Change) {
	switch {
	case ch.New != nil:
		f.o.OnEvent(kind, ch.New.ResourceVersion())
	case ch.Last != nil:
		f.o.OnEvent(kind, ch.Last.ResourceVersion())
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
