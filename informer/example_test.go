package informer_test

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// exampleFactory is a factory on a cluster with two ConfigMaps. A program writes
//
//	factory, err := informer.NewFactory(informer.Connect(client), informer.FactoryOptions{})
func exampleFactory() *informer.Factory {
	c := newCluster()
	c.server("ConfigMap", "").Put(configMap("cpu", "low"))
	c.server("ConfigMap", "").Put(configMap("disk", "low"))
	c.server("ConfigMap", "").Put(configMap("net", "high"))
	f, err := informer.NewFactory(c.connection(), informer.FactoryOptions{})
	if err != nil {
		panic(err)
	}
	return f
}

// Be told what there is and what changes.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	factory := exampleFactory()
	maps, err := informer.Open[corev1.ConfigMap](ctx, factory)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer maps.Close()
	told, err := maps.AddHandler(informer.Handler[corev1.ConfigMap]{
		OnAdd: func(m *corev1.ConfigMap, first bool) { fmt.Println("add", m.Name, first) },
		OnUpdate: func(old, new *corev1.ConfigMap) {
			fmt.Println("update", new.Name, old.Data["value"], "→", new.Data["value"])
		},
		OnDelete: func(last *corev1.ConfigMap, missed bool) { fmt.Println("delete", last.Name) },
	}, informer.HandlerOptions{Name: "printer"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error, 1)
	go func() { ended <- factory.Run(ctx) }()
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
func ExampleLister() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	factory := exampleFactory()
	maps, err := informer.Open[corev1.ConfigMap](ctx, factory)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer maps.Close()
	if err := maps.IndexPath("data[value]"); err != nil {
		fmt.Println(err)
		return
	}
	lister := maps.Lister()
	_, err = lister.Get(object.Key{Namespace: "ns", Name: "cpu"})
	fmt.Println("too early:", err)

	ended := make(chan error, 1)
	go func() { ended <- factory.Run(ctx) }()
	fmt.Println("synced:", factory.WaitForCacheSync(ctx))

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

// Trim what is held. What fails is set aside, and reported.
func ExampleTransform() {
	drop := informer.Transform(func(m *corev1.ConfigMap) error {
		if len(m.Data) > 100 {
			return errors.New("too much data")
		}
		delete(m.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
		return nil
	})
	m := configMap("a", "1")
	m.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{…}"}
	fmt.Println(drop(m), m.Annotations)
	fmt.Println(drop(&corev1.Pod{}))
	// Output:
	// <nil> map[]
	// transform of *v1.ConfigMap: the object is a *v1.Pod
}
