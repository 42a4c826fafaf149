package workqueue_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/workqueue"
)

const benchKeys = 400_000

func manyKeys(n int) []object.Key {
	keys := make([]object.Key, n)
	for i := range keys {
		keys[i] = object.Key{Namespace: fmt.Sprintf("namespace-%d", i%50), Name: fmt.Sprintf("pod-%d-%d", i%5000, i)}
	}
	return keys
}

func newQueue(b *testing.B) *workqueue.Queue[object.Key, struct{}] {
	q, err := workqueue.New(workqueue.Options[object.Key, struct{}]{})
	if err != nil {
		b.Fatal(err)
	}
	return q
}

// One key at a time through a queue that stays nearly empty.
func BenchmarkAddGetDone(b *testing.B) {
	keys, q, ctx := manyKeys(benchKeys), newQueue(b), context.Background()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		q.Add(keys[i%benchKeys])
		item, _ := q.Get(ctx)
		q.Done(item.Key)
	}
}

// 400,000 keys in, then 400,000 out. One op is one key.
func BenchmarkFillAndDrain(b *testing.B) {
	for _, tc := range []struct {
		name       string
		priorities int
	}{{"one priority", 1}, {"ten priorities", 10}} {
		b.Run(tc.name, func(b *testing.B) {
			keys, q, ctx := manyKeys(benchKeys), newQueue(b), context.Background()
			b.ReportAllocs()
			for remaining := b.N; remaining > 0; remaining -= benchKeys {
				n := min(remaining, benchKeys)
				for i, k := range keys[:n] {
					q.AddWith(k, workqueue.AddOptions[struct{}]{Priority: i % tc.priorities})
				}
				for range n {
					item, _ := q.Get(ctx)
					q.Done(item.Key)
				}
			}
		})
	}
}

// Adds of keys that are ready already.
func BenchmarkAddDuplicate(b *testing.B) {
	keys, q := manyKeys(1000), newQueue(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		q.Add(keys[i%len(keys)])
	}
}

// A producer and four workers, which park when the queue is empty.
func BenchmarkParkedWorkers(b *testing.B) {
	keys, q := manyKeys(benchKeys), newQueue(b)
	done := make(chan struct{})
	for range 4 {
		go func() {
			for {
				item, ok := q.Get(context.Background())
				if !ok {
					done <- struct{}{}
					return
				}
				q.Done(item.Key)
			}
		}()
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		q.Add(keys[i%benchKeys])
	}
	q.ShutDown()
	for range 4 {
		<-done
	}
}

// Delayed adds, all in the heap at once, and their hand-out by a Core with a clock of its own.
func BenchmarkDelayed(b *testing.B) {
	keys := manyKeys(benchKeys)
	core, err := workqueue.NewCore(workqueue.Options[object.Key, struct{}]{})
	if err != nil {
		b.Fatal(err)
	}
	now := time.Unix(0, 0)
	b.ReportAllocs()
	for remaining := b.N; remaining > 0; remaining -= benchKeys {
		n := min(remaining, benchKeys)
		for i, k := range keys[:n] {
			core.Add(k, workqueue.AddOptions[struct{}]{After: time.Duration(1 + i*7919%n)}, now)
		}
		now = now.Add(time.Second)
		for range n {
			item, _ := core.Get(now)
			core.Done(item.Key, now)
		}
	}
}
