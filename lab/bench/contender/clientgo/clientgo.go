// Package clientgo holds objects in client-go's informer.
package clientgo

import (
	"context"
	"errors"
	"sync"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/flyball-io/flyball/lab/bench/contender"
	"github.com/flyball-io/flyball/lab/bench/corpus"
)

// Library is client-go.
var Library = With(contender.ClientGo, stock, func(cache.SharedIndexInformer) int64 { return 0 })

// NewInformer makes the informer of a kind, which drops managedFields if Best is set.
type NewInformer func(o contender.Options, k contender.Kind, indexers cache.Indexers) (cache.SharedIndexInformer, error)

// With is client-go with other informers. offHeap returns the bytes that one holds outside the Go heap.
func With(name string, newInformer NewInformer, offHeap func(cache.SharedIndexInformer) int64) contender.Library {
	open := func(o contender.Options) (contender.Contender, error) { return open(o, newInformer, offHeap) }
	return contender.Library{Name: name, New: open, NewQueue: newQueue}
}

// stock makes an informer of client-go.
func stock(o contender.Options, k contender.Kind, indexers cache.Indexers) (cache.SharedIndexInformer, error) {
	lw, err := listWatch(o.Config, k)
	if err != nil {
		return nil, err
	}
	in := cache.NewSharedIndexInformer(lw, k.Blank(), 0, indexers)
	if o.Best {
		err = in.SetTransform(stripManagedFields)
	}
	return in, err
}

type holder []*held

// held is one kind.
type held struct {
	contender.Kind
	onEvent  func(version string)
	informer cache.SharedIndexInformer
	offHeap  func(cache.SharedIndexInformer) int64
	queue    workqueue.TypedRateLimitingInterface[cache.ObjectName] // of the controller, if there is one
}

func open(o contender.Options, newInformer NewInformer, offHeap func(cache.SharedIndexInformer) int64) (contender.Contender, error) {
	klog.SetLogger(logr.Discard()) // its messages are expected
	var all holder
	for i, k := range o.Kinds {
		h, err := hold(o, i, k, newInformer)
		if err != nil {
			return nil, err
		}
		h.offHeap = offHeap
		all = append(all, h)
	}
	return all, nil
}

// hold makes the informer of a kind.
func hold(o contender.Options, number int, k contender.Kind, newInformer NewInformer) (*held, error) {
	byIndex := func(obj any) ([]string, error) { return []string{contender.IndexValue(obj.(corpus.Object))}, nil }
	c := &held{Kind: k, onEvent: func(version string) { o.OnEvent(number, version) }}
	var err error
	c.informer, err = newInformer(o, k, cache.Indexers{
		contender.IndexPath(k.Resource): byIndex, cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	})
	if err != nil {
		return nil, err
	}
	handlers := []cache.ResourceEventHandler{OnVersion(c.onEvent)}
	if o.Reconcile {
		c.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
		handlers = []cache.ResourceEventHandler{Every(c.enqueue)}
	}
	if o.Blocked != nil && number == 0 {
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

// OnVersion returns a handler that reports the version of every change after the first list.
func OnVersion(onEvent func(version string)) cache.ResourceEventHandler {
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

func (c *held) enqueue(obj any) {
	if name, err := cache.DeletionHandlingObjectToName(obj); err == nil {
		c.queue.Add(name)
	}
}

// Run implements contender.Contender.
func (c holder) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, h := range c {
		if h.queue != nil {
			context.AfterFunc(ctx, h.queue.ShutDown)
			running.Go(func() { h.work(ctx) })
		}
		running.Go(func() { h.informer.RunWithContext(ctx) })
	}
	running.Wait()
	return nil
}

// work is a worker of the controller, as in client-go's examples.
func (c *held) work(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), c.informer.HasSynced) {
		return
	}
	for {
		name, ended := c.queue.Get()
		if ended {
			return
		}
		if obj, err := c.read(name.String()); err == nil {
			c.onEvent(obj.GetResourceVersion())
		}
		c.queue.Forget(name)
		c.queue.Done(name)
	}
}

// WaitForSync implements contender.Contender.
func (c holder) WaitForSync(ctx context.Context) error {
	var synced []cache.InformerSynced
	for _, h := range c {
		synced = append(synced, h.informer.HasSynced)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return context.Cause(ctx)
	}
	return nil
}

var errNotFound = errors.New("not found")

// read returns a copy of an object.
func (c *held) read(key string) (corpus.Object, error) {
	obj, ok, err := c.informer.GetStore().GetByKey(key)
	if err != nil || !ok {
		return nil, errors.Join(err, errNotFound)
	}
	return obj.(runtime.Object).DeepCopyObject().(corpus.Object), nil
}

// Get implements contender.Contender.
func (c holder) Get(key contender.Key) error {
	_, err := c[key.Kind].read(key.Key.String())
	return err
}

// Shared reads the object in the cache without a copy.
func (c holder) Shared(key contender.Key) error {
	obj, ok, err := c[key.Kind].informer.GetStore().GetByKey(key.Key.String())
	if err != nil || !ok {
		return errors.Join(err, errNotFound)
	}
	_ = obj.(metav1.Object).GetLabels()
	return nil
}

// ByIndex implements contender.Contender.
func (c holder) ByIndex(kind int, value string) (int, error) {
	all, err := c[kind].informer.GetIndexer().ByIndex(contender.IndexPath(c[kind].Resource), value)
	for _, obj := range all {
		_ = obj.(runtime.Object).DeepCopyObject()
	}
	return len(all), err
}

// Some implements contender.Contender.
func (c holder) Some(kind int, value string, few int) (int, error) {
	all, err := c[kind].informer.GetIndexer().ByIndex(contender.IndexPath(c[kind].Resource), value)
	all = all[:min(few, len(all))]
	for _, obj := range all {
		_ = obj.(runtime.Object).DeepCopyObject()
	}
	return len(all), err
}

// ByLabel implements contender.Contender.
func (c holder) ByLabel(kind int, namespace, value string) (n int, err error) {
	add := func(obj any) {
		_ = obj.(runtime.Object).DeepCopyObject()
		n++
	}
	sel := labels.SelectorFromSet(labels.Set{contender.AppLabel: value})
	if !c[kind].Namespaced {
		err = cache.ListAll(c[kind].informer.GetStore(), sel, add)
		return n, err
	}
	err = cache.ListAllByNamespace(c[kind].informer.GetIndexer(), namespace, sel, add)
	return n, err
}

// Held implements contender.Contender.
func (c holder) Held() (n int64) {
	for _, h := range c {
		n += h.offHeap(h.informer)
	}
	return n
}
