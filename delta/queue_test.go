package delta_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/delta"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// The changes of the store are what a backlog takes.
var _ = delta.Change[*store.Entry](store.Change{})

type pod struct{ header object.Header }

func (p *pod) Header() *object.Header { return &p.header }

func (p *pod) SameUID(other *pod) bool { return p.header.Same(&other.header) }

func podAt(name, version string) *pod {
	return &pod{object.Header{Key: object.Key{Namespace: "default", Name: name}, UID: "u", ResourceVersion: version}}
}

// take waits, and takes what is pending.
func take(ctx context.Context, f *delta.FIFO[*pod]) ([]delta.Delta[*pod], error) {
	err := f.Wait(ctx)
	return f.TakeAll(nil), err
}

func TestWaitWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := delta.NewFIFO[*pod]()
		go func() {
			time.Sleep(time.Minute)
			f.Push(delta.Added, podAt("a", "1"))
			time.Sleep(time.Minute)
			f.Wake()
		}()
		start := time.Now()
		got, err := take(t.Context(), f)
		if err != nil || len(got) != 1 || time.Since(start) != 2*time.Minute {
			t.Errorf("got %v, %v after %s", got, err, time.Since(start))
		}
	})
}

func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := delta.NewFIFO[*pod]()
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		go cancel(cause)
		if _, err := take(ctx, f); err != cause {
			t.Errorf("got %v, want the cause", err)
		}
		f.Wake()
		if got, err := take(t.Context(), f); len(got) != 0 || err != nil {
			t.Errorf("woken: %v, %v", got, err)
		}
		f.Push(delta.Added, podAt("a", "1"))
		f.Close()
		f.Close()
		f.Push(delta.Added, podAt("b", "1"))
		if got, err := take(t.Context(), f); len(got) != 1 || err != nil {
			t.Errorf("after Close: %v, %v, want what was pending", got, err)
		}
		if _, err := take(t.Context(), f); err != delta.ErrClosed {
			t.Errorf("got %v, want ErrClosed", err)
		}
	})
}

func TestCloseReleasesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, b := delta.NewFIFO[*pod](), delta.NewBacklog[*pod]()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := take(t.Context(), f); err != delta.ErrClosed {
				t.Errorf("FIFO: %v", err)
			}
		})
		wg.Go(func() {
			if _, err := b.Next(t.Context()); err != delta.ErrClosed {
				t.Errorf("Backlog: %v", err)
			}
		})
		synctest.Wait()
		f.Close()
		b.Close()
		wg.Wait()
	})
}

func TestBacklogCloseForgets(t *testing.T) {
	b := delta.NewBacklog[*pod]()
	p := podAt("a", "1")
	b.Push(delta.Change[*pod]{Key: p.header.Key, New: p})
	b.Close()
	b.Push(delta.Change[*pod]{Key: p.header.Key, New: p})
	b.Mark()
	if got := b.Stats().Depth; got != 0 {
		t.Errorf("%d pending", got)
	}
	if _, err := b.Next(t.Context()); err != delta.ErrClosed {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

// Many push while one takes: of each key the newest state arrives last, and nothing is left behind.
func TestPushersNeverLose(t *testing.T) {
	const pushers, versions = 8, 2000
	f := delta.NewFIFO[*pod]()
	var wg sync.WaitGroup
	for i := range pushers {
		wg.Go(func() {
			for v := 1; v <= versions; v++ {
				f.Push(delta.Updated, podAt(fmt.Sprint("pod-", i), fmt.Sprint(v)))
				f.Wake()
			}
		})
	}
	go func() { wg.Wait(); f.Close() }()
	newest := map[object.Key]string{}
	for {
		batch, err := take(t.Context(), f)
		if err != nil {
			break
		}
		for _, d := range batch {
			if c, _ := object.CompareVersions(d.Value.header.ResourceVersion, newest[d.Key]); c < 0 {
				t.Fatalf("%s went back from %s to %s", d.Key, newest[d.Key], d.Value.header.ResourceVersion)
			}
			newest[d.Key] = d.Value.header.ResourceVersion
		}
	}
	for k, v := range newest {
		if v != fmt.Sprint(versions) {
			t.Errorf("%s ended at %s", k, v)
		}
	}
	if len(newest) != pushers {
		t.Errorf("%d keys", len(newest))
	}
}

// A slow consumer gets the newest state of each key, once.
func ExampleFIFO() {
	f := delta.NewFIFO[*pod]()
	f.Push(delta.Added, podAt("web", "1"))
	f.Push(delta.Added, podAt("db", "2"))
	f.Push(delta.Updated, podAt("web", "3"))
	f.Push(delta.Deleted, podAt("db", "4"))

	for _, d := range f.TakeAll(nil) {
		fmt.Println(d.Type, d.Key, "at", d.Value.header.ResourceVersion)
	}
	// Output:
	// Added default/web at 3
	// Deleted default/db at 4
}

// A handler that was busy is told of one change: from what it was shown to what is.
func ExampleBacklog() {
	b := delta.NewBacklog[*pod]()
	v1, v2, v3 := podAt("web", "1"), podAt("web", "2"), podAt("web", "3")
	b.Push(delta.Change[*pod]{Key: v1.header.Key, Old: v1, New: v2})
	b.Push(delta.Change[*pod]{Key: v1.header.Key, Old: v2, New: v3})

	item, _ := b.Next(context.Background())
	fmt.Println(item.Change.Key, item.Change.Old.header.ResourceVersion, "→", item.Change.New.header.ResourceVersion)
	// Output:
	// default/web 1 → 3
}

func BenchmarkFIFO(b *testing.B) {
	pods := make([]*pod, 10_000)
	for i := range pods {
		pods[i] = podAt(fmt.Sprint("pod-", i), "1")
	}
	f := delta.NewFIFO[*pod]()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		f.Push(delta.Updated, pods[i%len(pods)])
		if i%1000 == 999 {
			f.TakeAll(nil)
		}
	}
}

func BenchmarkBacklog(b *testing.B) {
	for _, batch := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("behind=%d", batch), func(b *testing.B) {
			pods := make([]*pod, 10_000)
			for i := range pods {
				pods[i] = podAt(fmt.Sprint("pod-", i), "1")
			}
			q := delta.NewBacklog[*pod]()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				p := pods[i%len(pods)]
				q.Push(delta.Change[*pod]{Key: p.header.Key, Old: p, New: p})
				if i >= batch {
					q.Next(b.Context())
				}
			}
		})
	}
}
