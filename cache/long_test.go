package cache_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"runtime"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// A long list yields the objects that Get returns, in the order
// of the keys. An object that cannot be decoded is an error in its place. A loop that ends early
// leaves no goroutine, which the bubble would notice.
func TestLongListsEqualGets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
		cl := newCluster()
		server := cl.server("Pod", "")
		const all = 300
		var keys []object.Key
		for i := range all {
			p := testobj.Pod("a/"+fmt.Sprintf("pod-%03d", i), testobj.OnNode(fmt.Sprintf("node-%d", i)), testobj.Labels("app=web"))
			keys = append(keys, object.Key{Namespace: p.Namespace, Name: p.Name})
			if i%50 == 49 {
				server.PutJSON(keys[i], `,"labels":{"app":"web"}`, `"spec":7`)
				continue
			}
			server.Put(p)
		}
		c := newCache(t, cl, cache.Options{})
		if err := c.AddIndex(kind("Pod"), "metadata.labels[app]", informer.IndexPath("metadata.labels[app]")); err != nil {
			t.Fatal(err)
		}
		h, err := c.Open(t.Context(), &corev1.Pod{}, client.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		stop := start(c)
		if err := c.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		lister, err := informer.NewLister[corev1.Pod](h.Informer())
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		for name, list := range map[string]iter.Seq2[*corev1.Pod, error]{
			"list":           client.List[corev1.Pod](ctx, c),
			"list by label":  client.List[corev1.Pod](ctx, c, client.MatchingLabels{"app": "web"}),
			"list by index":  client.List[corev1.Pod](ctx, c, client.MatchingFields{"metadata.labels[app]": "web"}),
			"lister":         lister.All("a", nil),
			"paged, of four": paged(ctx, c, 4),
			"paged, of 100":  paged(ctx, c, 100),
		} {
			i := 0
			for got, err := range list {
				want, wrong := client.Get[corev1.Pod](ctx, c, keys[i])
				if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(wrong) {
					t.Fatalf("%s: %d is %v (%v), want %v (%v)", name, i, got, err, want, wrong)
				}
				if _, bad := errors.AsType[*store.RejectedError](err); bad != (i%50 == 49) {
					t.Fatalf("%s: %d: error %v", name, i, err)
				}
				i++
			}
			if i != all {
				t.Errorf("%s: %d of %d", name, i, all)
			}
			for leave := range 100 {
				i := 0
				for range list {
					if i++; i > leave {
						break
					}
				}
			}
		}
		if listed, err := lister.List("a", nil); len(listed) != all-all/50 || err == nil {
			t.Errorf("%d listed, error %v", len(listed), err)
		}
		if err := stop(); !errors.Is(err, errEnd) {
			t.Errorf("Run = %v", err)
		}
	})
}

// paged yields the objects of all pages, and the errors of each page in place of the missing
// objects.
func paged(ctx context.Context, c *cache.Cache, limit int64) iter.Seq2[*corev1.Pod, error] {
	return func(yield func(*corev1.Pod, error) bool) {
		i, token := 0, ""
		for {
			page, err := client.ListPage[corev1.Pod](ctx, c, client.ListOptions{Limit: limit, Continue: token})
			var bad []error
			if joined, ok := err.(interface{ Unwrap() []error }); ok {
				bad = joined.Unwrap()
			}
			for _, p := range page.Items {
				for i%50 == 49 && len(bad) > 0 {
					if !yield(nil, bad[0]) {
						return
					}
					i, bad = i+1, bad[1:]
				}
				if !yield(p, nil) {
					return
				}
				i++
			}
			for _, err := range bad {
				if !yield(nil, err) {
					return
				}
				i++
			}
			if token = page.Continue; token == "" {
				return
			}
		}
	}
}
