package replicas_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/replicas"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
)

// Twenty processes with ten kinds each lose all connections at one moment, by a cut, or by a server that is away
// for a while. After the first two seconds no second has more than a tenth of the requests of a minute. Seconds
// are drawn, so few requests are counted over several rounds.
func TestReconnectsAreSpread(t *testing.T) {
	for _, test := range []struct {
		name   string
		away   time.Duration
		writes bool
		rounds int
	}{
		{"cut, quiet", 0, false, 1}, {"cut, busy", 0, true, 1},
		{"away for 5 s, quiet", 5 * time.Second, false, 1}, {"away for 30 s, busy", 30 * time.Second, true, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var kinds []replicas.Resource
				for i := range 10 {
					kinds = append(kinds, replicas.Resource{Group: "apps", Version: "v1", Plural: fmt.Sprintf("kind%ds", i), Kind: fmt.Sprintf("Kind%d", i)})
				}
				state := replicas.NewState()
				b := replicas.New(rand.New(rand.NewPCG(1, 1)), state, 1, false, kinds...)
				defer b.Shutdown()
				var mu sync.Mutex
				var from time.Time
				seconds := make([]int, 60)
				b.OnRequest = func(r *http.Request) {
					mu.Lock()
					defer mu.Unlock()
					if at := int(time.Since(from) / time.Second); !from.IsZero() && at < len(seconds) {
						seconds[at]++
					}
				}
				b.Servers[0].Start(replicas.Manner{Streams: true})
				group, _ := run.New(t.Context())
				for range 20 {
					follow(t, group, b, kinds)
				}
				write := func(d time.Duration) {
					for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
						if test.writes {
							for _, k := range kinds {
								state.Put(k.Plural, object.Key{Namespace: "ns", Name: "a"})
							}
						}
					}
				}
				since := func(t time.Time) {
					mu.Lock()
					defer mu.Unlock()
					from = t
				}
				for range test.rounds {
					write(45 * time.Second)
					b.Servers[0].Stop()
					time.Sleep(test.away)
					since(time.Now())
					b.Servers[0].Start(replicas.Manner{Streams: true})
					write(time.Minute)
					since(time.Time{})
				}
				mu.Lock()
				defer mu.Unlock()
				all := 0
				for _, n := range seconds {
					all += n
				}
				t.Log(all, seconds)
				for s, n := range seconds[2:] {
					if n > max(all/10, 20) {
						t.Errorf("%d of %d requests in second %d: %v", n, all, s+2, seconds)
					}
				}
				group.Stop(nil)
				group.Wait()
			})
		})
	}
}

// follow starts a process with a cache of all kinds.
func follow(t *testing.T, group *run.Group, b *replicas.Balancer, kinds []replicas.Resource) {
	transport := &http.Transport{DialContext: b.Dial, MaxIdleConnsPerHost: 100}
	live, err := client.New(&rest.Config{Host: "http://api.test", Transport: transport}, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := cache.New(cache.Connect(live), cache.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	group.Go("", func(ctx context.Context) error {
		defer transport.CloseIdleConnections()
		return c.Run(ctx)
	})
	for _, k := range kinds {
		proto := &unstructured.Unstructured{}
		proto.SetGroupVersionKind(schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind})
		if _, err := c.Open(t.Context(), proto, client.Selection{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
}
