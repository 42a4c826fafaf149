package cache_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/feedtest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/reflector"
)

// hanging is a source that never answers.
type hanging struct{}

func (hanging) List(ctx context.Context, _ wire.ListQuery) (*wire.List, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func (hanging) Watch(ctx context.Context, _ wire.WatchQuery) (*wire.Watch, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// counted records when lists begin.
type counted struct {
	*feedtest.Server
	note func(time.Time)
}

func (c counted) List(ctx context.Context, q wire.ListQuery) (*wire.List, error) {
	c.note(time.Now())
	return c.Server.List(ctx, q)
}

func custom(i int) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: fmt.Sprintf("Kind%d", i)}
}

// Kinds whose lists hang delay no other kind, however many of them come first.
func TestHungListsHoldUpNobody(t *testing.T) {
	for _, test := range []struct{ kinds, hung int }{{15, 5}, {15, 12}, {60, 50}} {
		t.Run(fmt.Sprintf("%d of %d", test.hung, test.kinds), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := cache.Connection{
					Scheme: types, Mapping: mapAny,
					Source: func(gvk schema.GroupVersionKind, _ client.Selection) reflector.Source {
						for i := range test.hung {
							if gvk == custom(i) {
								return hanging{}
							}
						}
						return feedtest.New(&wire.Kind{GVK: gvk})
					},
				}
				c, err := cache.New(conn, cache.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
				if err != nil {
					t.Fatal(err)
				}
				stop := start(c)
				defer stop()
				began := time.Now()
				for i := range test.kinds {
					if i == test.hung {
						time.Sleep(time.Millisecond) // the hanging ones come first
					}
					proto := &unstructured.Unstructured{}
					proto.SetGroupVersionKind(custom(i))
					h, err := c.Open(t.Context(), proto, client.Selection{})
					if err != nil {
						t.Fatal(err)
					}
					if i < test.hung {
						continue
					}
					<-h.Informer().Synced()
				}
				took := time.Since(began)
				t.Logf("the others have synced after %v", took)
				bound := time.Second
				if test.hung >= 8 {
					bound += 5 * time.Second
				}
				if bound += time.Duration(test.hung/8) * 500 * time.Millisecond; took > bound {
					t.Errorf("that is more than %v", bound)
				}
			})
		})
	}
}

// Two thousand namespaces sync in less than 20 s from a server without latency. No more than a
// hundred lists begin within any second.
func TestTwoThousandNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var times []time.Time
		note := func(at time.Time) {
			mu.Lock()
			defer mu.Unlock()
			times = append(times, at)
		}
		conn := cache.Connection{
			Scheme: types, Mapping: mapAny,
			Source: func(gvk schema.GroupVersionKind, sel client.Selection) reflector.Source {
				s := feedtest.New(&wire.Kind{GVK: gvk, Scheme: types})
				s.Put(testobj.ConfigMap(sel.Namespace + "/a"))
				return counted{s, note}
			},
		}
		o := cache.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
		for i := range 2000 {
			o.Namespaces = append(o.Namespaces, fmt.Sprintf("ns-%04d", i))
		}
		c, err := cache.New(conn, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Open(t.Context(), &corev1.ConfigMap{}, client.Selection{}); err != nil {
			t.Fatal(err)
		}
		stop := start(c)
		defer stop()
		began := time.Now()
		if err := c.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		took := time.Since(began)
		slices.SortFunc(times, time.Time.Compare)
		most := 0
		for i, j := 0, 0; i < len(times); i++ {
			for times[i].Sub(times[j]) >= time.Second {
				j++
			}
			most = max(most, i-j+1)
		}
		t.Logf("synced after %v, %d lists in the busiest second", took, most)
		if took >= 20*time.Second || most > 100 {
			t.Errorf("synced after %v, %d lists in the busiest second", took, most)
		}
	})
}
