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

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
)

// One budget counts all watches of a kind, and the figures of a watch are its own.
func TestWatchesOfAKindShareItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := newCluster()
		cl.server("Pod", "namespace=a").Put(testobj.Pod("a/p1"))
		cl.server("Pod", "namespace=a").PutJSON(object.Key{Namespace: "a", Name: "bad"}, "", `"spec":7`)
		cl.server("Pod", "namespace=b").Put(testobj.Pod("b/p2"))
		cl.server("Node", "").Put(testobj.Node("n"))
		c := newCache(t, cl, cache.Options{
			Namespaces: []string{"a", "b"}, MemoryBudget: 1 << 40,
			Kinds: []cache.KindOptions{{Kind: kind("Node"), MemoryBudget: -1}},
		})
		if w := c.Watches(); len(w) > 0 {
			t.Errorf("nothing is open: %+v", w)
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
		all := c.Watches()
		if len(all) != 3 || all[0].Kind.GVK != kind("Node") || all[1].Selection.Namespace != "a" || all[2].Selection.Namespace != "b" {
			t.Fatalf("%+v", all)
		}
		node, a, b := all[0], all[1], all[2]
		if node.State.Objects != 1 || a.State.Objects != 2 || b.State.Objects != 1 || a.State.Rejected != 1 || b.State.Rejected != 0 {
			t.Errorf("%+v", all)
		}
		held := a.Figures.Store.Held + b.Figures.Store.Held
		if budget := a.Figures.Budget; budget != b.Figures.Budget || budget.Bytes != 1<<40 || budget.Held != held || budget.Over || held <= 0 {
			t.Errorf("budget %+v, %d bytes are held", budget, held)
		}
		if node.Figures.Budget != (informer.BudgetState{}) || node.Figures.Store.Bytes < 100 {
			t.Errorf("%+v", node.Figures)
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
				s.Put(testobj.Pod("a/p"))
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
					s.Put(testobj.Pod(fmt.Sprint("a/q", i)))
					synctest.Wait()
				}
				if got, err := client.Get[corev1.Pod](t.Context(), made, object.Key{Namespace: "a", Name: "q19"}); err != nil || got.Name != "q19" {
					t.Errorf("%v, %v", got, err)
				}
				st := made.Watches()[0]
				if st.State.Objects != 21 || st.Figures.Budget.Over != c.want {
					t.Errorf("%+v", st)
				}
				_ = stop()
				if lines := strings.Count(log.String(), "memory budget exceeded"); (lines == 1) != c.want || lines != told {
					t.Errorf("%d lines, told %d times: %s", lines, told, &log)
				}
				if b := made.Watches()[0].Figures.Budget; b.Held != 0 || b.Over {
					t.Errorf("after the end: %+v", b)
				}
			})
		})
	}
}
