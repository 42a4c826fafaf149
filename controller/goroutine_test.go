package controller_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/predicate"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/store"
)

// goroutine returns the name of the goroutine that calls it.
func goroutine() string {
	b := make([]byte, 64)
	name, _, _ := strings.Cut(string(b[:runtime.Stack(b, false)]), " [")
	return name
}

// The requests of a change are queued on the goroutine that applied it, unless a predicate or the handler calls a
// function of a user. Then all of these functions of a source run on one goroutine of that source.
func TestGoroutinesOfSources(t *testing.T) {
	var called []string // the goroutines of the functions of a user
	user := predicate.Func(func(store.Change) bool {
		called = append(called, goroutine())
		return true
	})
	byMap := handler.Func(func(_ context.Context, c store.Change) ([]reconcile.Request, error) {
		called = append(called, goroutine())
		return []reconcile.Request{c.Key}, nil
	})
	builtin := predicate.InNamespace("web")
	for name, tc := range map[string]struct {
		source controller.Source[reconcile.Request]
		calls  int // of functions of a user, for one change
	}{
		"For":                       {controller.For[corev1.Pod](), 0},
		"a built-in predicate":      {controller.For[corev1.Pod](builtin), 0},
		"several":                   {controller.For[corev1.Pod](predicate.And(builtin, predicate.Not(predicate.InNamespace("x")))), 0},
		"Self":                      {controller.Watches[corev1.Pod](handler.Self()), 0},
		"a predicate of a user":     {controller.For[corev1.Pod](user), 1},
		"behind a built-in one":     {controller.For[corev1.Pod](builtin, user), 1},
		"within a built-in one":     {controller.For[corev1.Pod](predicate.Or(user)), 1},
		"a handler of a user":       {controller.Watches[corev1.Pod](byMap), 1},
		"both":                      {controller.Watches[corev1.Pod](byMap, user), 2},
		"a user's before built-ins": {controller.Watches[corev1.Pod](handler.Self(), user, builtin), 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				called = nil
				var queued []string
				m, r := newManager(), &recorder{}
				o := controller.Options{Priority: func(reconcile.Cause) int {
					queued = append(queued, goroutine())
					return 0
				}}
				stop := start(newController(t, m, r.Reconcile, o, controller.WithoutFor(), tc.source))
				defer stop()
				w := m.watch("Pod")
				close(w.synced)
				synctest.Wait()
				w.set(pod("a", 1, ""), false)
				synctest.Wait()
				if len(queued) != 1 || len(called) != tc.calls {
					t.Fatalf("queued on %q, functions called on %q, want %d calls", queued, called, tc.calls)
				}
				if own := queued[0] != goroutine(); own != (tc.calls > 0) {
					t.Errorf("queued on a goroutine of the source: %v, want %v", own, tc.calls > 0)
				}
				for _, g := range called {
					if g != queued[0] {
						t.Errorf("a function was called on %s, the request queued on %s", g, queued[0])
					}
				}
			})
		})
	}
}
