package controller_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/predicate"
	"github.com/flyball-io/flyball/reconcile"
)

// One change through predicate, handler, queue and an empty reconcile.
func BenchmarkChangeToReconcile(b *testing.B) {
	m := newManager()
	count := make(chan struct{}, 1024)
	r := func(context.Context, reconcile.Request) (reconcile.Result, error) {
		count <- struct{}{}
		return reconcile.Result{}, nil
	}
	subscribed := make(chan struct{})
	m.refuse = func(string) error { close(subscribed); return nil }
	c, err := controller.New(m, "test", r, controller.For[appsv1.Deployment](predicate.InNamespace("web")))
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	<-subscribed
	w := m.watch("Deployment")
	close(w.synced)
	var changes []func()
	for i := range 1000 {
		name := fmt.Sprint("d", i)
		w.set(deployment(name, 1), false)
		<-count
		e := testobj.Entry(deployment(name, 2))
		changes = append(changes, func() { w.apply(key(name), e) })
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		changes[i%len(changes)]()
		<-count
		i++
	}
	cancel()
	<-done
}
