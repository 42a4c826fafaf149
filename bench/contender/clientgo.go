package contender

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/object"
)

type clientGo struct {
	informer cache.SharedIndexInformer
}

func newClientGo(o Options) (Contender, error) {
	lw, err := listWatch(o)
	if err != nil {
		return nil, err
	}
	inf := cache.NewSharedIndexInformer(lw, empty(o.Spec), 0, cache.Indexers{IndexName: func(obj any) ([]string, error) { return []string{IndexValue(obj)}, nil }})
	if o.Best {
		if err := inf.SetTransform(stripManagedFields); err != nil {
			return nil, err
		}
	}
	_, err = inf.AddEventHandler(peerHandler(o.OnEvent))
	return &clientGo{informer: inf}, err
}

func stripManagedFields(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

// peerHandler tells of every change after the first list.
func peerHandler(tell func(version string)) cache.ResourceEventHandler {
	version := func(obj any) string {
		if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = gone.Obj
		}
		if o, ok := obj.(metav1.Object); ok {
			return o.GetResourceVersion()
		}
		return ""
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if !initial {
				tell(version(obj))
			}
		},
		UpdateFunc: func(_, obj any) { tell(version(obj)) },
		DeleteFunc: func(obj any) { tell(version(obj)) },
	}
}

// listWatch is what generated clients do, for typed and for custom resources.
func listWatch(o Options) (cache.ListerWatcher, error) {
	gvr := o.Spec.GVR()
	if _, custom := empty(o.Spec).(runtime.Unstructured); custom {
		c, err := dynamic.NewForConfig(o.Config)
		if err != nil {
			return nil, err
		}
		return &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, lo metav1.ListOptions) (runtime.Object, error) {
				return c.Resource(gvr).List(ctx, lo)
			},
			WatchFuncWithContext: func(ctx context.Context, lo metav1.ListOptions) (watch.Interface, error) {
				return c.Resource(gvr).Watch(ctx, lo)
			},
		}, nil
	}
	cfg := rest.CopyConfig(o.Config)
	gv := gvr.GroupVersion()
	cfg.GroupVersion, cfg.APIPath, cfg.NegotiatedSerializer = &gv, "/apis", scheme.Codecs.WithoutConversion()
	if gvr.Group == "" {
		cfg.APIPath = "/api"
	}
	c, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, err
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, lo metav1.ListOptions) (runtime.Object, error) {
			return c.Get().Resource(gvr.Resource).VersionedParams(&lo, scheme.ParameterCodec).Do(ctx).Get()
		},
		WatchFuncWithContext: func(ctx context.Context, lo metav1.ListOptions) (watch.Interface, error) {
			lo.Watch = true
			return c.Get().Resource(gvr.Resource).VersionedParams(&lo, scheme.ParameterCodec).Watch(ctx)
		},
	}, nil
}

// Run implements Contender.
func (c *clientGo) Run(ctx context.Context) error {
	c.informer.RunWithContext(ctx)
	return nil
}

// WaitForSync implements Contender.
func (c *clientGo) WaitForSync(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), c.informer.HasSynced) {
		return context.Cause(ctx)
	}
	return nil
}

var errNotFound = errors.New("not found")

// Get implements Contender.
func (c *clientGo) Get(key object.Key) error {
	obj, ok, err := c.informer.GetStore().GetByKey(key.String())
	if err != nil || !ok {
		return errors.Join(err, errNotFound)
	}
	_ = obj.(runtime.Object).DeepCopyObject()
	return nil
}

// ByIndex implements Contender.
func (c *clientGo) ByIndex(value string) (int, error) {
	all, err := c.informer.GetIndexer().ByIndex(IndexName, value)
	for _, obj := range all {
		_ = obj.(runtime.Object).DeepCopyObject()
	}
	return len(all), err
}

// Header implements Contender. What it returns must not be changed.
func (c *clientGo) Header(key object.Key) error {
	_, ok, err := c.informer.GetStore().GetByKey(key.String())
	if err != nil || !ok {
		return errors.Join(err, errNotFound)
	}
	return nil
}

// Held implements Contender.
func (c *clientGo) Held() int { return 0 }
