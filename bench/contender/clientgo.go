package contender

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/flyball-io/flyball/bench/corpus"
	"github.com/flyball-io/flyball/object"
)

type clientGo struct {
	o        Options
	informer cache.SharedIndexInformer
	queue    workqueue.TypedRateLimitingInterface[cache.ObjectName] // of the controller, if there is one
}

func newClientGo(o Options) (Contender, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	lw, err := listWatch(o)
	if err != nil {
		return nil, err
	}
	byIndex := func(obj any) ([]string, error) { return []string{IndexValue(obj.(corpus.Object))}, nil }
	c := &clientGo{o: o, informer: cache.NewSharedIndexInformer(lw, o.blank(), 0, cache.Indexers{
		indexPath(o.Resource): byIndex, cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	})}
	if o.Best {
		if err := c.informer.SetTransform(stripManagedFields); err != nil {
			return nil, err
		}
	}
	handlers := []cache.ResourceEventHandler{tell(o.OnEvent)}
	if o.Reconcile {
		c.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
		handlers = []cache.ResourceEventHandler{every(c.enqueue)}
	}
	if o.Blocked != nil {
		handlers = append(handlers, every(func(any) { o.Blocked() }))
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

// every is a handler that is called with every object and change.
func every(f func(obj any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{AddFunc: f, UpdateFunc: func(_, obj any) { f(obj) }, DeleteFunc: f}
}

// tell tells of every change after the first list.
func tell(onEvent func(version string)) cache.ResourceEventHandler {
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

func (c *clientGo) enqueue(obj any) {
	if name, err := cache.DeletionHandlingObjectToName(obj); err == nil {
		c.queue.Add(name)
	}
}

// Run implements Contender.
func (c *clientGo) Run(ctx context.Context) error {
	if c.queue != nil {
		defer c.queue.ShutDown()
		go c.work(ctx)
	}
	c.informer.RunWithContext(ctx)
	return nil
}

// work is a controller's worker, as client-go's examples have it.
func (c *clientGo) work(ctx context.Context) {
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

// WaitForSync implements Contender.
func (c *clientGo) WaitForSync(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), c.informer.HasSynced) {
		return context.Cause(ctx)
	}
	return nil
}

var errNotFound = errors.New("not found")

// read is a copy of an object.
func (c *clientGo) read(key string) (corpus.Object, error) {
	obj, ok, err := c.informer.GetStore().GetByKey(key)
	if err != nil || !ok {
		return nil, errors.Join(err, errNotFound)
	}
	return obj.(runtime.Object).DeepCopyObject().(corpus.Object), nil
}

// Get implements Contender.
func (c *clientGo) Get(key object.Key) error {
	_, err := c.read(key.String())
	return err
}

// Shared looks at the object that is in the cache.
func (c *clientGo) Shared(key object.Key) error {
	obj, ok, err := c.informer.GetStore().GetByKey(key.String())
	if err != nil || !ok {
		return errors.Join(err, errNotFound)
	}
	_ = obj.(metav1.Object).GetLabels()
	return nil
}

// ByIndex implements Contender.
func (c *clientGo) ByIndex(value string) (int, error) {
	all, err := c.informer.GetIndexer().ByIndex(indexPath(c.o.Resource), value)
	for _, obj := range all {
		_ = obj.(runtime.Object).DeepCopyObject()
	}
	return len(all), err
}

// ByLabel implements Contender.
func (c *clientGo) ByLabel(namespace, value string) (n int, err error) {
	add := func(obj any) {
		_ = obj.(runtime.Object).DeepCopyObject()
		n++
	}
	sel := labels.SelectorFromSet(labels.Set{AppLabel: value})
	if !c.o.Resource.Namespaced {
		return n, cache.ListAll(c.informer.GetStore(), sel, add)
	}
	err = cache.ListAllByNamespace(c.informer.GetIndexer(), namespace, sel, add)
	return n, err
}

// Held implements Contender.
func (c *clientGo) Held() int64 { return 0 }
