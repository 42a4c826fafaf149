package cache_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
)

// Stats adds up the watches of a kind: of several namespaces, of metadata, of other selections.
func TestStatsAddUpWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := newCluster()
		cl.server("Pod", "namespace=a").Put(pod("a", "p1", "n"))
		cl.server("Pod", "namespace=a").PutJSON(object.Key{Namespace: "a", Name: "bad"}, "", `"spec":7`)
		cl.server("Pod", "namespace=b").Put(pod("b", "p2", "n"))
		cl.server("Node", "").Put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
		c := newCache(t, cl, cache.Options{
			Namespaces: []string{"a", "b"}, MemoryBudget: 1 << 40,
			Kinds: []cache.KindOptions{{Kind: kind("Node"), MemoryBudget: -1}},
		})
		if s := c.Stats(); len(s.Kinds) > 0 || s.Total != (cache.Memory{}) {
			t.Errorf("nothing is open: %+v", s)
		}
		defer open(t, c, &corev1.Pod{}).Close()
		defer open(t, c, &corev1.Node{}).Close()
		stop := start(c)
		defer func() { _ = stop() }()
		if err := c.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Get[corev1.Pod](t.Context(), c, object.Key{Namespace: "a", Name: "bad"}); err == nil {
			t.Error("bad can be read")
		}
		synctest.Wait()
		s := c.Stats()
		if len(s.Kinds) != 2 || s.Kinds[0].Kind != kind("Node") || s.Kinds[1].Kind != kind("Pod") {
			t.Fatalf("%+v", s)
		}
		nodes, pods := s.Kinds[0], s.Kinds[1]
		if nodes.Objects != 1 || pods.Objects != 3 || pods.SetAside != 1 || s.Total.Objects != 4 || s.Total.SetAside != 1 {
			t.Errorf("%+v", s)
		}
		var wire, held int64
		for _, w := range c.Watches() {
			wire, held = wire+w.Figures.Store.Bytes, held+w.Figures.Store.Held
		}
		if sum := nodes.WireBytes + pods.WireBytes; sum != wire || s.Total.WireBytes != wire || wire < 4*100 {
			t.Errorf("%d of %d bytes, total %d", sum, wire, s.Total.WireBytes)
		}
		if sum := nodes.HeldBytes + pods.HeldBytes; sum != held || s.Total.HeldBytes != held || held <= 0 {
			t.Errorf("%d of %d bytes are held, total %d", sum, held, s.Total.HeldBytes)
		}
		if pods.Budget.Bytes != 1<<40 || pods.Budget.Held != pods.HeldBytes || pods.Budget.Over || nodes.Budget != (informer.BudgetState{}) {
			t.Errorf("budgets %+v, %+v", pods.Budget, nodes.Budget)
		}
	})
}

// A kind over its budget reports that once, whatever else arrives, and answers as before.
func TestBudgetIsReportedOnceAndDropsNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		o    cache.Options
		want bool
	}{
		{"none", cache.Options{}, false},
		{"of every kind", cache.Options{MemoryBudget: 1}, true},
		{"of this kind", cache.Options{MemoryBudget: 1 << 40, Kinds: []cache.KindOptions{{Kind: kind("Pod"), MemoryBudget: 1}}}, true},
		{"not of this kind", cache.Options{MemoryBudget: 1, Kinds: []cache.KindOptions{{Kind: kind("Pod"), MemoryBudget: -1}}}, false},
		{"of another kind", cache.Options{Kinds: []cache.KindOptions{{Kind: kind("Node"), MemoryBudget: 1}}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cl := newCluster()
				s := cl.server("Pod", "")
				s.Put(pod("a", "p", "n"))
				var mu sync.Mutex
				var log bytes.Buffer
				told := 0
				c.o.Logger = slog.New(slog.NewTextHandler(&log, nil))
				c.o.OnProblem = func(p informer.Problem) {
					mu.Lock()
					defer mu.Unlock()
					if _, ok := errors.AsType[*informer.BudgetError](p.Err); ok && p.Kind == kind("Pod") {
						told++
					}
				}
				made, err := cache.New(cl.connection(), c.o)
				if err != nil {
					t.Fatal(err)
				}
				defer open(t, made, &corev1.Pod{}).Close()
				stop := start(made)
				for i := range 20 {
					s.Put(pod("a", fmt.Sprint("q", i), "n"))
					synctest.Wait()
				}
				if got, err := client.Get[corev1.Pod](t.Context(), made, object.Key{Namespace: "a", Name: "q19"}); err != nil || got.Name != "q19" {
					t.Errorf("%v, %v", got, err)
				}
				st := made.Stats().Kinds[0]
				if st.Objects != 21 || st.Budget.Over != c.want {
					t.Errorf("%+v", st)
				}
				_ = stop()
				if lines := strings.Count(log.String(), "memory budget exceeded"); (lines == 1) != c.want || lines != told {
					t.Errorf("%d lines, told %d times: %s", lines, told, &log)
				}
				if b := made.Stats().Kinds[0].Budget; b.Held != 0 || b.Over {
					t.Errorf("after the end: %+v", b)
				}
			})
		})
	}
}
