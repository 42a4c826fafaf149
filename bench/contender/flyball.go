package contender

import (
	"context"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/bench/corpus"
	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

type flyball struct {
	cache *cache.Cache
	spec  corpus.Spec
	kind  corpus.Object
}

func newFlyball(o Options) (Contender, error) {
	live, err := client.New(o.Config, client.Options{Mapper: mapper(o.Spec)})
	if err != nil {
		return nil, err
	}
	c, err := cache.New(informer.Connect(live), cache.Options{StripManagedFields: o.Best})
	if err != nil {
		return nil, err
	}
	f := &flyball{cache: c, spec: o.Spec, kind: empty(o.Spec)}
	if o.Spec.Kind == "pods" {
		err = c.IndexPath(o.Spec.GVK(), IndexName)
	}
	if err != nil {
		return nil, err
	}
	h, err := c.Open(context.Background(), f.kind, informer.Selection{})
	if err != nil {
		return nil, err
	}
	_, err = h.Subscribe("bench", func(ch store.Change) {
		switch {
		case ch.Initial:
		case ch.New != nil:
			o.OnEvent(ch.New.Header().ResourceVersion)
		case ch.Last != nil:
			o.OnEvent(ch.Last.Header().ResourceVersion)
		}
	})
	return f, err
}

func blankOf(o corpus.Object) corpus.Object {
	return reflect.New(reflect.TypeOf(o).Elem()).Interface().(corpus.Object)
}

// Run implements Contender.
func (f *flyball) Run(ctx context.Context) error { return f.cache.Run(ctx) }

// WaitForSync implements Contender.
func (f *flyball) WaitForSync(ctx context.Context) error { return f.cache.WaitForSync(ctx) }

// Get implements Contender.
func (f *flyball) Get(key object.Key) error {
	into := f.blank()
	return f.cache.Get(context.Background(), key, into, client.GetOptions{})
}

func (f *flyball) blank() corpus.Object {
	if u, ok := f.kind.(*unstructured.Unstructured); ok {
		return u.DeepCopy()
	}
	return blankOf(f.kind)
}

// ByIndex implements Contender.
func (f *flyball) ByIndex(value string) (n int, err error) {
	var opt client.ListOption = client.MatchingLabels{appLabel: value}
	if f.spec.Kind == "pods" {
		opt = client.MatchingFields{IndexName: value}
	}
	o, err := client.NewListOptions(opt)
	if err != nil {
		return 0, err
	}
	for _, err := range f.cache.List(context.Background(), f.kind, o) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Header implements Contender.
func (f *flyball) Header(key object.Key) error {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(f.spec.GVK())
	return f.cache.Get(context.Background(), key, m, client.GetOptions{})
}

// Held implements Contender.
func (f *flyball) Held() int { return 0 }
