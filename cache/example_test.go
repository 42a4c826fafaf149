package cache_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// Read open kinds, also by a field. A program makes the cache with
//
//	c, err := cache.New(informer.Connect(client), cache.Options{})
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	cluster := newCluster()
	cluster.server("Pod", "").Put(pod("web", "one", "node-1"))
	cluster.server("Pod", "").Put(pod("web", "two", "node-2"))
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
func ExampleCache_Stats() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	cluster := newCluster()
	cluster.server("Pod", "").Put(pod("web", "one", "node-1"))
	cluster.server("Pod", "").Put(pod("web", "two", "node-2"))
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

	stats := c.Stats()
	for _, k := range stats.Kinds {
		fmt.Printf("%s: %d objects, budget %d MiB, over it: %v\n", k.Kind.Kind, k.Objects, k.Budget.Bytes>>20, k.Budget.Over)
	}
	fmt.Println("all kinds:", stats.Total.Objects)
	stop()
	<-ended
	// Output:
	// synced: true
	// Pod: 2 objects, budget 100 MiB, over it: false
	// all kinds: 2
}
