package main

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/listers"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/examples/migrating/foo/api"
)

// What follows is the least of what client-gen, lister-gen and informer-gen make for a kind.

// fooClient makes the requests for Foos.
type fooClient struct {
	rest   rest.Interface
	params runtime.ParameterCodec
}

func newFooClient(cfg *rest.Config, types *runtime.Scheme) (*fooClient, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.GroupVersion, cfg.APIPath = &api.GroupVersion, "/apis"
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(types).WithoutConversion()
	c, err := rest.RESTClientFor(cfg)
	return &fooClient{c, runtime.NewParameterCodec(types)}, err
}

// in returns the client for a namespace; empty for all.
func (c *fooClient) in(namespace string) *gentype.ClientWithList[*api.Foo, *api.FooList] {
	return gentype.NewClientWithList("foos", c.rest, c.params, namespace,
		func() *api.Foo { return &api.Foo{} }, func() *api.FooList { return &api.FooList{} })
}

var fooIndexers = cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}

func newFooInformer(c *fooClient, resync time.Duration) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return c.in("").List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return c.in("").Watch(ctx, o)
		},
	}, &api.Foo{}, resync, fooIndexers)
}

// fooLister reads Foos from the store of the informer.
type fooLister struct {
	listers.ResourceIndexer[*api.Foo]
}

func newFooLister(i cache.Indexer) fooLister {
	return fooLister{listers.New[*api.Foo](i, api.GroupVersion.WithResource("foos").GroupResource())}
}

func (l fooLister) in(namespace string) listers.ResourceIndexer[*api.Foo] {
	return listers.NewNamespaced[*api.Foo](l.ResourceIndexer, namespace)
}
