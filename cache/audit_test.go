package cache_test

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// Audits are on by default. Each watch has its own. Options and KindOptions set their interval.
func TestAuditIntervalsComeFromTheOptions(t *testing.T) {
	podGVK := corev1.SchemeGroupVersion.WithKind("Pod")
	for name, tt := range map[string]struct {
		o           cache.Options
		pods, nodes [2]int // audits in a day, from and to
	}{
		"by default": {cache.Options{}, [2]int{4, 5}, [2]int{4, 5}},
		"period":     {cache.Options{Audit: time.Hour}, [2]int{24, 32}, [2]int{24, 32}},
		"off":        {cache.Options{Audit: -1}, [2]int{}, [2]int{}},
		"off, but for a kind": {cache.Options{Audit: -1, Kinds: []cache.KindOptions{{Kind: podGVK, Audit: 2 * time.Hour}}},
			[2]int{12, 16}, [2]int{}},
		"on, but for a kind": {cache.Options{Kinds: []cache.KindOptions{{Kind: podGVK, Audit: -1}}}, [2]int{}, [2]int{4, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cl := newCluster()
				tt.o.Namespaces = []string{"a", "b"}
				c := newCache(t, cl, tt.o)
				for _, o := range []object.Object{&corev1.Pod{}, &corev1.Node{}} {
					if _, err := c.Open(t.Context(), o, client.Selection{}); err != nil {
						t.Fatal(err)
					}
				}
				stop := start(c)
				defer stop()
				time.Sleep(24*time.Hour + time.Minute)
				for i, watch := range []string{"namespace=a", "namespace=b", ""} {
					kind, want := "Pod", tt.pods
					if i == 2 {
						kind, want = "Node", tt.nodes
					}
					if n := cl.server(kind, watch).Exact(); n < want[0] || n > want[1] {
						t.Errorf("%s of %s: %d audits in a day", kind, watch, n)
					}
				}
			})
		})
	}
}

// Audits of many watches are spread.
func TestAuditsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := newCluster()
		var names []string
		for i := range 200 {
			names = append(names, "ns"+string(rune('a'+i/26))+string(rune('a'+i%26)))
		}
		c := newCache(t, cl, cache.Options{Namespaces: names})
		if _, err := c.Open(t.Context(), &corev1.Pod{}, client.Selection{}); err != nil {
			t.Fatal(err)
		}
		stop := start(c)
		defer stop()
		audits := func() (n int) {
			for _, name := range names {
				n += cl.server("Pod", "namespace="+name).Exact()
			}
			return n
		}
		busiest := 0
		for was := 0; was < len(names); {
			time.Sleep(time.Minute)
			now := audits()
			busiest, was = max(busiest, now-was), now
		}
		if busiest > 15 {
			t.Errorf("%d audits of 200 in one minute", busiest)
		}
	})
}
