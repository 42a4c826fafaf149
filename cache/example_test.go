package cache_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// Read open kinds, also by a field. A program makes the cache with
//
//	c, err := cache.New(cache.Connect(client), cache.Options{})
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	cluster := newCluster()
	cluster.server("Pod", "").Put(testobj.Pod("web/one", testobj.OnNode("node-1")))
	cluster.server("Pod", "").Put(testobj.Pod("web/two", testobj.OnNode("node-2")))
	c, err := cache.New(cluster.connection(), cache.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := cache.IndexField(c, "spec.nodeName", func(p *corev1.Pod) []string { return []string{p.Spec.NodeName} }); err != nil {
		fmt.Println(err)
		return
	}
	pods, err := c.Open(ctx, &corev1.Pod{}, client.Selection{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pods.Close()
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	fmt.Println("synced:", c.WaitForSync(ctx) == nil)

	for p, err := range client.List[corev1.Pod](ctx, c, client.MatchingFields{"spec.nodeName": "node-2"}) {
		fmt.Println(p.Name, err)
	}
	_, err = client.Get[corev1.Secret](ctx, c, object.Key{Namespace: "web", Name: "password"})
	fmt.Println(err)
	stop()
	<-ended
	// Output:
	// synced: true
	// two <nil>
	// cache: /v1, Kind=Secret is not open: open it, or read it live
}

// How much memory does the cache take for each kind, and is that over its budget?
func ExampleCache_Watches() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	cluster := newCluster()
	cluster.server("Pod", "").Put(testobj.Pod("web/one", testobj.OnNode("node-1")))
	cluster.server("Pod", "").Put(testobj.Pod("web/two", testobj.OnNode("node-2")))
	c, err := cache.New(cluster.connection(), cache.Options{MemoryBudget: 100 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	pods, err := c.Open(ctx, &corev1.Pod{}, client.Selection{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pods.Close()
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	fmt.Println("synced:", c.WaitForSync(ctx) == nil)

	for _, w := range c.Watches() {
		held, budget := w.Figures.Store, w.Figures.Budget
		fmt.Printf("%s: %d objects, budget %d MiB, over it: %v\n", w.Kind.GVK.Kind, held.Objects, budget.Bytes>>20, budget.Over)
	}
	stop()
	<-ended
	// Output:
	// synced: true
	// Pod: 2 objects, budget 100 MiB, over it: false
}

// exampleMaps is a cache on a cluster with three ConfigMaps. A program writes
//
//	objects, err := cache.New(cache.Connect(client), cache.Options{})
func exampleMaps() *cache.Cache {
	c := newCluster()
	c.server("ConfigMap", "").Put(configMap("cpu", "low"))
	c.server("ConfigMap", "").Put(configMap("disk", "low"))
	c.server("ConfigMap", "").Put(configMap("net", "high"))
	made, err := cache.New(c.connection(), cache.Options{})
	if err != nil {
		panic(err)
	}
	return made
}

// Handle what there is and what changes, as with a factory of informers.
func ExampleOpen() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	objects := exampleMaps()
	maps, err := cache.Open[corev1.ConfigMap](ctx, objects)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer maps.Close()
	told, err := maps.AddHandler(informer.Handler[corev1.ConfigMap]{
		Name:  "printer",
		OnAdd: func(m *corev1.ConfigMap, first bool) { fmt.Println("add", m.Name, first) },
		OnUpdate: func(old, new *corev1.ConfigMap) {
			fmt.Println("update", new.Name, old.Data["value"], "→", new.Data["value"])
		},
		OnDelete: func(last *corev1.ConfigMap, missed bool) { fmt.Println("delete", last.Name) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error, 1)
	go func() { ended <- objects.Run(ctx) }()
	<-told.Synced()
	stop()
	fmt.Println(<-ended)
	// Output:
	// add cpu true
	// add disk true
	// add net true
	// context canceled
}

// Read from memory, by key and by a field.
func ExampleTyped_Lister() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	objects := exampleMaps()
	maps, err := cache.Open[corev1.ConfigMap](ctx, objects)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer maps.Close()
	if err := objects.AddIndex(kind("ConfigMap"), "data[value]", informer.IndexPath("data[value]")); err != nil {
		fmt.Println(err)
		return
	}
	lister := maps.Lister()
	_, err = lister.Get(object.Key{Namespace: "ns", Name: "cpu"})
	fmt.Println("too early:", err)

	ended := make(chan error, 1)
	go func() { ended <- objects.Run(ctx) }()
	fmt.Println("synced:", objects.WaitForSync(ctx) == nil)

	m, err := lister.Get(object.Key{Namespace: "ns", Name: "cpu"})
	fmt.Println(m.Name, err)
	_, err = lister.Get(object.Key{Namespace: "ns", Name: "memory"})
	fmt.Println(err)
	for m, err := range lister.Select(store.Is("data[value]", "low")) {
		fmt.Println("low:", m.Name, err)
	}
	stop()
	<-ended
	// Output:
	// too early: ConfigMap: not synced: idle
	// synced: true
	// cpu <nil>
	// get configmaps ns/memory: configmaps "memory" not found
	// low: cpu <nil>
	// low: disk <nil>
}
