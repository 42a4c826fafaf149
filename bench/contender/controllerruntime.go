package contender

import (
	"context"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball/object"
)

type controllerRuntime struct {
	cache    crcache.Cache
	kind     crclient.Object
	list     func() crclient.ObjectList
	metadata bool
	start    func() error
}

func newControllerRuntime(o Options) (Contender, error) { return controllerRuntimeOf(o, false) }

func newControllerRuntimeMetadata(o Options) (Contender, error) { return controllerRuntimeOf(o, true) }

func controllerRuntimeOf(o Options, metadata bool) (Contender, error) {
	co := crcache.Options{Scheme: scheme.Scheme, Mapper: mapper(o.Spec)}
	if o.Best {
		co.DefaultTransform = crcache.TransformStripManagedFields()
	}
	c, err := crcache.New(o.Config, co)
	if err != nil {
		return nil, err
	}
	r := &controllerRuntime{cache: c, metadata: metadata}
	if r.kind, r.list, err = prototypes(o, metadata); err != nil {
		return nil, err
	}
	ctx := context.Background()
	if err := c.IndexField(ctx, r.kind, IndexName, func(obj crclient.Object) []string { return []string{IndexValue(obj)} }); err != nil {
		return nil, err
	}
	r.start = func() error {
		inf, err := c.GetInformer(ctx, r.kind, crcache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		_, err = inf.AddEventHandler(peerHandler(o.OnEvent))
		return err
	}
	return r, nil
}

// prototypes are an object of the kind and an empty list.
func prototypes(o Options, metadata bool) (crclient.Object, func() crclient.ObjectList, error) {
	gvk := o.Spec.GVK()
	listKind := gvk.GroupVersion().WithKind(gvk.Kind + "List")
	if metadata {
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(gvk)
		return m, func() crclient.ObjectList {
			l := &metav1.PartialObjectMetadataList{}
			l.SetGroupVersionKind(listKind)
			return l
		}, nil
	}
	kind, ok := empty(o.Spec).(crclient.Object)
	if !ok {
		return nil, nil, fmt.Errorf("%s: no object", gvk.Kind)
	}
	if _, ok := kind.(*unstructured.Unstructured); ok {
		return kind, func() crclient.ObjectList {
			l := &unstructured.UnstructuredList{}
			l.SetGroupVersionKind(listKind)
			return l
		}, nil
	}
	return kind, func() crclient.ObjectList {
		l, err := scheme.Scheme.New(listKind)
		if err != nil {
			panic(err) // a kind of k8s.io/api
		}
		return l.(crclient.ObjectList)
	}, nil
}

// Run implements Contender.
func (c *controllerRuntime) Run(ctx context.Context) error {
	if err := c.start(); err != nil {
		return err
	}
	return c.cache.Start(ctx)
}

// WaitForSync implements Contender.
func (c *controllerRuntime) WaitForSync(ctx context.Context) error {
	inf, err := c.cache.GetInformer(ctx, c.kind)
	if err != nil {
		return err
	}
	if !inf.HasSynced() {
		return fmt.Errorf("not synced")
	}
	return nil
}

// Get implements Contender.
func (c *controllerRuntime) Get(key object.Key) error {
	into := reflect.New(reflect.TypeOf(c.kind).Elem()).Interface().(crclient.Object)
	if k := c.kind.GetObjectKind().GroupVersionKind(); !k.Empty() {
		into.(runtime.Object).GetObjectKind().SetGroupVersionKind(k)
	}
	return c.cache.Get(context.Background(), crclient.ObjectKey{Namespace: key.Namespace, Name: key.Name}, into)
}

// ByIndex implements Contender.
func (c *controllerRuntime) ByIndex(value string) (int, error) {
	l := c.list()
	if err := c.cache.List(context.Background(), l, crclient.MatchingFields{IndexName: value}); err != nil {
		return 0, err
	}
	return reflect.ValueOf(l).Elem().FieldByName("Items").Len(), nil
}

// Header implements Contender: for those who hold all of it that is all of it.
func (c *controllerRuntime) Header(key object.Key) error { return c.Get(key) }

// Held implements Contender.
func (c *controllerRuntime) Held() int { return 0 }
