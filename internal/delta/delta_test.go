package delta_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/internal/delta"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

func podAt(name, version string) *store.Entry {
	return store.Rejected(object.Header{Key: object.Key{Namespace: "default", Name: name}, UID: "u", ResourceVersion: version}, nil)
}

func TestNextWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, p := delta.New(), podAt("a", "1")
		go func() {
			time.Sleep(time.Minute)
			q.Push(store.Change{Key: p.Key(), New: p})
		}()
		start := time.Now()
		item, err := q.Next(t.Context())
		if err != nil || item.Change.New != p || time.Since(start) != time.Minute {
			t.Errorf("got %+v, %v after %s", item, err, time.Since(start))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("enough")
		go cancel(cause)
		if _, err := q.Next(ctx); err != cause {
			t.Errorf("got %v, want the cause", err)
		}
	})
}

func TestCloseReleasesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := delta.New()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := q.Next(t.Context()); err != delta.ErrClosed {
				t.Error(err)
			}
		})
		synctest.Wait()
		q.Close()
		q.Close()
		wg.Wait()
	})
}

func TestCloseForgets(t *testing.T) {
	q, p := delta.New(), podAt("a", "1")
	q.Push(store.Change{Key: p.Key(), New: p})
	q.Close()
	q.Push(store.Change{Key: p.Key(), New: p})
	q.Mark()
	if got := q.Stats().Depth; got != 0 {
		t.Errorf("%d pending", got)
	}
	if _, err := q.Next(t.Context()); err != delta.ErrClosed {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

// Many push while one takes: of each key the newest state arrives last, from the state taken before.
func TestPushersNeverLose(t *testing.T) {
	const pushers, versions = 8, 2000
	q := delta.New()
	var wg sync.WaitGroup
	for i := range pushers {
		wg.Go(func() {
			var old *store.Entry
			for v := 1; v <= versions; v++ {
				p := podAt(fmt.Sprint("pod-", i), strconv.Itoa(v))
				q.Push(store.Change{Key: p.Key(), Old: old, New: p})
				old = p
			}
		})
	}
	taken := map[object.Key]*store.Entry{}
	for done := 0; done < pushers; {
		item, err := q.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c := item.Change
		if c.Old != taken[c.Key] {
			t.Fatalf("%s: Old is not the state that was taken before", c.Key)
		}
		if taken[c.Key] = c.New; c.New.ResourceVersion() == strconv.Itoa(versions) {
			done++
		}
	}
	wg.Wait()
	if s := q.Stats(); s.Depth != 0 || s.Pushed != pushers*versions {
		t.Errorf("%+v", s)
	}
}

// A handler that was busy is told of one change: from what it was shown to what is.
func ExampleQueue() {
	q := delta.New()
	v1, v2, v3 := podAt("web", "1"), podAt("web", "2"), podAt("web", "3")
	q.Push(store.Change{Key: v1.Key(), Old: v1, New: v2})
	q.Push(store.Change{Key: v1.Key(), Old: v2, New: v3})

	item, _ := q.Next(context.Background())
	fmt.Println(item.Change.Key, item.Change.Old.ResourceVersion(), "→", item.Change.New.ResourceVersion())
	// Output:
	// default/web 1 → 3
}

func BenchmarkQueue(b *testing.B) {
	for _, batch := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("behind=%d", batch), func(b *testing.B) {
			pods := make([]*store.Entry, 10_000)
			for i := range pods {
				pods[i] = podAt(fmt.Sprint("pod-", i), "1")
			}
			q := delta.New()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				p := pods[i%len(pods)]
				q.Push(store.Change{Key: p.Key(), Old: p, New: p})
				if i >= batch {
					q.Next(b.Context())
				}
			}
		})
	}
}
