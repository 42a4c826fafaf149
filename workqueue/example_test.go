package workqueue_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/workqueue"
)

// How do I write a worker by hand?
func Example() {
	q, err := workqueue.New(workqueue.Options[object.Key, struct{}]{})
	if err != nil {
		fmt.Println(err)
		return
	}
	q.Add(object.Key{Namespace: "default", Name: "web"})
	q.Add(object.Key{Namespace: "default", Name: "db"})
	q.Add(object.Key{Namespace: "default", Name: "web"}) // already queued
	q.ShutDown()                                         // so that this example ends

	ctx := context.Background()
	work := func(key object.Key) error { fmt.Println(key); return nil }
	for item, ok := q.Get(ctx); ok; item, ok = q.Next(ctx, item.Key) {
		if err := work(item.Key); err != nil {
			q.Retry(item)
		} else {
			q.Forget(item.Key)
		}
	}
	// Output:
	// default/web
	// default/db
}

// What happens when a key is added again while it waits?
func ExampleOptions_merge() {
	q, _ := workqueue.New(workqueue.Options[string, []string]{
		Merge: func(old, new []string) []string { return append(old, new...) },
	})
	q.AddWith("web", workqueue.AddOptions[[]string]{Value: []string{"pod changed"}})
	q.AddWith("web", workqueue.AddOptions[[]string]{Value: []string{"service changed"}, Priority: 2})

	item, _ := q.Get(context.Background())
	fmt.Println(item.Key, item.Value, item.Priority)
	// Output: web [pod changed service changed] 2
}

// How do I let user changes go before a full re-check?
func ExampleAddOptions_priority() {
	q, _ := workqueue.New(workqueue.Options[string, struct{}]{})
	q.AddWith("re-check a", workqueue.AddOptions[struct{}]{Priority: -100})
	q.AddWith("re-check b", workqueue.AddOptions[struct{}]{Priority: -100})
	q.Add("edited c")
	for range 3 {
		item, _ := q.Get(context.Background())
		fmt.Println(item.Key)
	}
	// Output:
	// edited c
	// re-check a
	// re-check b
}

// How do I stop without leaving work half done?
func ExampleQueue_ShutDownWithDrain() {
	q, _ := workqueue.New(workqueue.Options[string, struct{}]{})
	q.Add("web")
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		ctx := context.Background()
		for item, ok := q.Get(ctx); ok; item, ok = q.Next(ctx, item.Key) {
			fmt.Println("worked on", item.Key)
		}
	}()

	ctx, cancel := context.WithTimeoutCause(context.Background(), time.Minute, errors.New("grace is over"))
	defer cancel()
	fmt.Println("drained:", q.ShutDownWithDrain(ctx))
	<-stopped
	// Output:
	// worked on web
	// drained: <nil>
}
