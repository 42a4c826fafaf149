package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/internal/wire"
)

// A request whose ctx ends in the queue takes no token: the limit passes its full rate.
func TestCancelledRequestsTakeNoToken(t *testing.T) {
	for name, impatient := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"deadline": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		},
		"cancelled": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				f.on("GET /api/v1/namespaces/web/pods/x", reply(pod("x"), podGVK))
				c := f.client(Options{QPS: 5, Burst: 5})
				over, end := context.WithTimeout(t.Context(), 60*time.Second)
				defer end()
				var workers sync.WaitGroup
				for range 20 {
					workers.Go(func() {
						for over.Err() == nil {
							ctx, cancel := impatient(over)
							_, err := Get[corev1.Pod](ctx, c, key("x"))
							cancel()
							if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
								t.Errorf("got %v", err)
							}
							time.Sleep(10 * time.Millisecond)
						}
					})
				}
				workers.Wait()
				if n := f.count(); n < 295 || n > 310 {
					t.Errorf("%d requests in a minute, want 5 a second", n)
				}
				start := time.Now()
				if _, err := Get[corev1.Pod](t.Context(), c, key("x")); err != nil || time.Since(start) > 200*time.Millisecond {
					t.Errorf("the next request took %v: %v", time.Since(start), err)
				}
			})
		})
	}
}

// A request that cannot pass in time fails at once, with the delay that it needed.
func TestRequestsThatCannotPassInTimeFailAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.on("GET /api/v1/namespaces/web/pods/x", reply(pod("x"), podGVK))
		c := f.client(Options{QPS: 1})
		get := func(d time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			_, err := Get[corev1.Pod](ctx, c, key("x"))
			return err
		}
		if err := get(time.Second); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		err := get(999 * time.Millisecond)
		if err == nil || !strings.Contains(err.Error(), "comes in 1s") || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 0 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if err := get(1001 * time.Millisecond); err != nil || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// Requests pass in the order of their calls. Requests of another limit are not delayed.
func TestLimitKeepsTheOrderOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		var mu sync.Mutex
		var order []string
		for i := range 6 {
			name := fmt.Sprint(i)
			f.on("GET /api/v1/namespaces/web/pods/"+name, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				reply(pod(name), podGVK)(w, r)
			})
		}
		f.on("GET /api/v1/pods", status(429, "TooManyRequests", "2"))
		c := f.client(Options{QPS: 1})
		var all sync.WaitGroup
		for i := range 6 {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			all.Go(func() {
				if _, err := Get[corev1.Pod](ctx, c, key(fmt.Sprint(i))); (err != nil) != (i == 2) {
					t.Errorf("%d: %v", i, err)
				}
			})
			synctest.Wait()
			if i == 3 {
				continue
			}
			if i == 2 {
				time.AfterFunc(time.Millisecond, cancel)
			}
		}
		start := time.Now()
		if _, err := Get[corev1.Pod](t.Context(), c.Limited(0, 0), key("0")); err != nil {
			t.Error(err)
		}
		if _, err := c.Feed(podGVK, Selection{}).List(t.Context(), wire.ListQuery{}); !is[*TooManyRequestsError](err) {
			t.Error(err)
		}
		if err := c.Check(t.Context()); errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if d := time.Since(start); d > 0 {
			t.Errorf("those without a limit waited %v", d)
		}
		all.Wait()
		if got := fmt.Sprint(order); got != "[0 0 1 3 4 5]" || time.Since(start) != 4*time.Second {
			t.Errorf("%v after %v", got, time.Since(start))
		}
	})
}
