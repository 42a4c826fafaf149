// Package clientgo holds objects in client-go's informer.
package clientgo

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/flyball-io/flyball/bench/contender"
	"github.com/flyball-io/flyball/bench/corpus"
	"github.com/flyball-io/flyball/object"
)

// Library is client-go.
var Library = contender.Library{Name: contender.ClientGo, New: open, NewQueue: newQueue}

type holder struct {
	o        contender.Options
	informer cache.SharedIndexInformer
	queue    workqueue.TypedRateLimitingInterface[cache.ObjectName] // of the controller, if there is one
}

func open(o contender.Options) (contender.Contender, error) {
	klog.SetLogger(logr.Discard()) // its messages are expected
	lw, err := listWatch(o)
	if err != nil {
		return nil, err
	}
	byIndex := func(obj any) ([]string, error) { return []string{contender.IndexValue(obj.(corpus.Object))}, nil }
	c := &holder{o: o, informer: cache.NewSharedIndexInformer(lw, o.Blank(), 0, cache.Indexers{
		contender.IndexPath(o.Resource): byIndex, cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	})}
	if o.Best {
		if err := c.informer.SetTransform(stripManagedFields); err != nil {
			return nil, err
		}
	}
	handlers := []cache.ResourceEventHandler{Tell(o.OnEvent)}
	if o.Reconcile {
		c.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
		handlers = []cache.ResourceEventHandler{Every(c.enqueue)}
	}
	if o.Blocked != nil {
		handlers = append(handlers, Every(func(any) { o.Blocked() }))
	}
	for _, h := range handlers {
		if _, err := c.informer.AddEventHandler(h); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func stripManagedFields(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

// Every returns a handler that calls f with every object and change.
func Every(f func(obj any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{AddFunc: f, UpdateFunc: func(_, obj any) { f(obj) }, DeleteFunc: f}
}

// Tell returns a handler that reports the version of every change after the first list.
func Tell(onEvent func(version string)) cache.ResourceEventHandler {
	version := func(obj any) {
		if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = gone.Obj
		}
		onEvent(obj.(metav1.Object).GetResourceVersion())
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, _ bool) { version(obj) },
		UpdateFunc: func(_, obj any) { version(obj) },
		DeleteFunc: version,
	}
}

func (c *holder) enqueue(obj any) {
	if name, err := cache.DeletionHandlingObjectToName(obj); err == nil {
		c.queue.Add(name)
	}
}

// Run implements contender.Contender.
func (c *holder) Run(ctx context.Context) error {
	if c.queue != nil {
		defer c.queue.ShutDown()
		go c.work(ctx)
	}
	c.informer.RunWithContext(ctx)
	return nil
}

// work is a worker of the controller, as in client-go's examples.
func (c *holder) work(ctx context.Context) {
	if c.WaitForSync(ctx) != nil {
		return
	}
	for {
		name, ended := c.queue.Get()
		if ended {
			return
		}
		if obj, err := c.read(name.String()); err == nil {
			c.o.OnEvent(obj.GetResourceVersion())
		}
		c.queue.Forget(name)
		c.queue.Done(name)
	}
}

// WaitForSync implements contender.Contender.
func (c *holder) WaitForSync(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), c.informer.HasSynced) {
		return context.Cause(ctx)
	}
	return nil
}

var errNotFound = errors.New("not found")

// read returns a copy of an object.
func (c *holder) read(key string) (corpus.Object, error) {
	obj, ok, err := c.informer.GetStore().GetByKey(key)
	if err != nil || !ok {
		return nil, errors.Join(err, errNotFound)
	}
	return obj.(runtime.Object).DeepCopyObject().(corpus.Object), nil
}

// Get implements contender.Contender.
func (c *holder) Get(key object.Key) error {
	_, err := c.read(key.String())
	return err
}

// Shared reads the object in the cache without a copy.
func (c *holder) Shared(key object.Key) error {
	obj, ok, err := c.informer.GetStore().GetByKey(key.String())
	if err != nil || !ok {
		return errors.Join(err, errNotFound)
	}
	_ = obj.(metav1.Object).GetLabels()
	return nil
}

// ByIndex implements contender.Contender.
func (c *holder) ByIndex(value string) (int, error) {
	all, err := c.informer.GetIndexer().ByIndex(contender.IndexPath(c.o.Resource), value)
	for _, obj := range all {
		_ = obj.(runtime.Object).DeepCopyObject()
	}
	return len(all), err
}

// Some implements contender.Contender.
func (c *holder) Some(value string, few int) (int, error) {
	all, err := c.informer.GetIndexer().ByIndex(contender.IndexPath(c.o.Resource), value)
	all = all[:min(few, len(all))]
	for _, obj := range all {
		_ = obj.(runtime.Object).DeepCopyObject()
	}
	return len(all), err
}

// ByLabel implements contender.Contender.
func (c *holder) ByLabel(namespace, value string) (n int, err error) {
	add := func(obj any) {
		_ = obj.(runtime.Object).DeepCopyObject()
		n++
	}
	sel := labels.SelectorFromSet(labels.Set{contender.AppLabel: value})
	if !c.o.Resource.Namespaced {
		return n, cache.ListAll(c.informer.GetStore(), sel, add)
	}
	err = cache.ListAllByNamespace(c.informer.GetIndexer(), namespace, sel, add)
	return n, err
}

// Held implements contender.Contender.
func (c *holder) Held() int64 { return 0 }
