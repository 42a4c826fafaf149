package clientgo

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/lab/bench/contender"
	"github.com/flyball-io/flyball/lab/bench/corpus"
)

// listWatch returns the lists and watches of client-go's clients: the dynamic one, the metadata
// one, and those generated for Go types.
func listWatch(shared *rest.Config, k contender.Kind) (cache.ListerWatcher, error) {
	cfg := rest.CopyConfig(shared)
	cfg.ContentType, cfg.AcceptContentTypes = k.ContentType, k.ContentType
	switch k.View {
	case contender.Unstructured:
		c, err := dynamic.NewForConfig(cfg)
		if err != nil {
			return nil, err
		}
		return listing(c.Resource(k.GVR)), nil
	case contender.Metadata:
		c, err := metadata.NewForConfig(cfg)
		if err != nil {
			return nil, err
		}
		return listing(c.Resource(k.GVR)), nil
	}
	gv := k.GVR.GroupVersion()
	cfg.GroupVersion, cfg.APIPath, cfg.NegotiatedSerializer = &gv, "/apis", serializer.NewCodecFactory(corpus.Scheme).WithoutConversion()
	if gv.Group == "" {
		cfg.APIPath = "/api"
	}
	c, err := rest.RESTClientFor(cfg)
	return listing(generated{c, k.GVR.Resource}), err
}

// lister is the common part of the clients. Each has a list type of its own.
type lister[L runtime.Object] interface {
	List(ctx context.Context, o metav1.ListOptions) (L, error)
	Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error)
}

func listing[L runtime.Object](c lister[L]) cache.ListerWatcher {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return c.List(ctx, o)
		},
		WatchFuncWithContext: c.Watch,
	}
}

// generated does the same as generated clients.
type generated struct {
	client   rest.Interface
	resource string
}

var parameters = runtime.NewParameterCodec(corpus.Scheme)

func (g generated) List(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	return g.client.Get().Resource(g.resource).VersionedParams(&o, parameters).Do(ctx).Get()
}

func (g generated) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	return g.client.Get().Resource(g.resource).VersionedParams(&o, parameters).Watch(ctx)
}
