package cache_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/test/servertest"
)

// The API server selects by other labels, and by fields, in each namespace, and one namespace has a transform.
// Reads of one namespace and of all see what was selected.
func TestSelectorsByNamespace(t *testing.T) {
	p := servertest.Shared(t)
	a, b, unnamed := servertest.Namespace(t, p), servertest.Namespace(t, p), servertest.Namespace(t, p)
	live := livetest.Client(t, p, client.Options{})
	for _, ns := range []string{a, b, unnamed} {
		for name, color := range map[string]string{"one": "red", "two": "blue"} {
			o := testobj.ConfigMap(ns+"/"+name, testobj.Labels("color="+color), testobj.Data("color", color))
			if _, err := client.Create(t.Context(), live, o); err != nil {
				t.Fatal(err)
			}
		}
	}
	c, err := cache.New(cache.Connect(live), cache.Options{
		Namespaces: []string{unnamed},
		Labels:     labels.SelectorFromSet(labels.Set{"color": "blue"}),
		Kinds: []cache.KindOptions{
			{
				Kind: kind("ConfigMap"), Namespaces: []string{a}, Labels: labels.SelectorFromSet(labels.Set{"color": "red"}),
				Transform: informer.Transform(func(o *corev1.ConfigMap) error { o.Data = nil; return nil }),
			},
			{Kind: kind("ConfigMap"), Namespaces: []string{b}, Fields: fields.OneTermEqualSelector("metadata.name", "two"), MemoryBudget: 1},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer open(t, c, &corev1.ConfigMap{}).Close()
	stop := start(c)
	defer func() { _ = stop() }()
	if err := c.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := names(client.List[corev1.ConfigMap](t.Context(), c)), a+"/one "+b+"/two"; got != want && got != b+"/two "+a+"/one" {
		t.Errorf("all: %s, want %s", got, want)
	}
	for ns, want := range map[string]string{a: a + "/one", b: b + "/two"} {
		if got := names(client.List[corev1.ConfigMap](t.Context(), c, client.InNamespace(ns))); got != want {
			t.Errorf("in %s: %s, want %s", ns, got, want)
		}
	}
	for key, want := range map[object.Key]int{{Namespace: a, Name: "one"}: 0, {Namespace: b, Name: "two"}: 1} {
		if o, err := client.Get[corev1.ConfigMap](t.Context(), c, key); err != nil || len(o.Data) != want {
			t.Errorf("%s: %v, %v; want %d entries", key, o, err, want)
		}
	}
	if _, err := client.Get[corev1.ConfigMap](t.Context(), c, object.Key{Namespace: unnamed, Name: "two"}); !is[*informer.NamespaceError](err) {
		t.Errorf("a namespace that the options of the kind leave out: %v", err)
	}
	for _, w := range c.Watches() {
		if w.Figures.Budget.Bytes != 1 {
			t.Errorf("the budget of %s is %d, want that of the kind", w.Selection, w.Figures.Budget.Bytes)
		}
	}
}

// How do I hold all ConfigMaps of one namespace, and a few of another one?
func ExampleKindOptions() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	cluster := newCluster() // stands for an API server, which selects
	cluster.server("ConfigMap", "namespace=shop").Put(testobj.ConfigMap("shop/prices"))
	cluster.server("ConfigMap", "namespace=shop").Put(testobj.ConfigMap("shop/rebates"))
	cluster.server("ConfigMap", "namespace=kube-system labels=shop=yes").Put(testobj.ConfigMap("kube-system/shop", testobj.Labels("shop=yes")))
	configMaps := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	c, err := cache.New(cluster.connection(), cache.Options{Kinds: []cache.KindOptions{
		{Kind: configMaps, Namespaces: []string{"shop"}},
		{Kind: configMaps, Namespaces: []string{"kube-system"}, Labels: labels.SelectorFromSet(labels.Set{"shop": "yes"})},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	held, err := cache.Open[corev1.ConfigMap](ctx, c)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer held.Close()
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	fmt.Println("synced:", c.WaitForSync(ctx) == nil)
	for o, err := range client.List[corev1.ConfigMap](ctx, c) {
		fmt.Println(object.KeyOf(o), err)
	}
	_, err = client.Get[corev1.ConfigMap](ctx, c, object.Key{Namespace: "web", Name: "prices"})
	fmt.Println(err)
	stop()
	<-ended
	// Output:
	// synced: true
	// kube-system/shop <nil>
	// shop/prices <nil>
	// shop/rebates <nil>
	// ConfigMap of namespace "web" is not held, only of kube-system, shop
}
