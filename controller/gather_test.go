package controller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/store"
)

// Each object that exists at the start is reconciled once when all sources have synced, however many there
// are, also if it changed before that.
func TestFirstListIsReconciledOnceAfterTheSync(t *testing.T) {
	for _, n := range []int{1, 255, 256, 257, 1000} {
		synctest.Test(t, func(t *testing.T) {
			m, r := newManager(), &recorder{}
			stop := start(newController(t, m, r.Reconcile, controller.Options{}, forDeployments(), controller.Watches[corev1.Pod](handler.Self())))
			w := m.watch("Deployment")
			for i := range n {
				w.set(deployment(fmt.Sprintf("d%04d", i), 1), true)
			}
			close(w.synced)
			w.set(deployment("d0000", 2), false)
			synctest.Wait()
			if got := r.calls(); len(got) > 0 {
				t.Fatalf("%d reconciles before all has synced", len(got))
			}
			m.watch("Pod").set(pod("p", 1, ""), true)
			close(m.watch("Pod").synced)
			synctest.Wait()
			got := r.calls()
			if len(got) != n+1 || got[0] != "d0000 updated×2" || !slices.Contains(got, "p listed×1") {
				t.Errorf("%d calls, want %d; the first is %q", len(got), n+1, got[0])
			}
			// A later object is reconciled at once.
			w.set(deployment("late", 1), true)
			synctest.Wait()
			if got := r.calls(); len(got) != n+2 {
				t.Errorf("a late one was not reconciled: %d calls", len(got))
			}
			stop()
		})
	}
}

// An object of the first list on which the handler failed is reconciled before or after the sync.
func TestFirstListIsCompleteDespiteAFailure(t *testing.T) {
	for _, early := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			m, r := newManager(), &recorder{}
			failures := 2
			h := failing{func(store.Change) error {
				if failures--; failures >= 0 {
					return errors.New("not now")
				}
				return nil
			}}
			stop := start(newController(t, m, r.Reconcile, controller.Options{}, controller.WithoutFor(), controller.Watches[corev1.Pod](h)))
			w := m.watch("Pod")
			w.set(pod("a", 1, ""), true)
			if early {
				pass(time.Minute)
			}
			close(w.synced)
			pass(time.Minute)
			if got, want := r.calls(), []string{"a listed×1"}; !slices.Equal(got, want) {
				t.Errorf("early %v: calls %q, want %q", early, got, want)
			}
			stop()
		})
	}
}

// asking requests the given requests for each object.
type asking map[object.Key][]any

func (h asking) Handle(_ context.Context, c store.Change, add func(any)) error {
	for _, req := range h[c.Key] {
		add(req)
	}
	return nil
}

func (h asking) HandleGeneric(context.Context, object.Object, func(any)) error { return nil }

// A request that cannot be compared is an error of its handler. Other requests are queued.
func TestIncomparableRequestHarmsNoOther(t *testing.T) {
	for _, initially := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			m := newManager()
			var got []controller.Problem
			var seen []any
			r := func(_ context.Context, req any) (reconcile.Result, error) {
				seen = append(seen, req)
				return reconcile.Result{}, nil
			}
			h := asking{
				key("a"): {1, 1, 2},
				key("b"): {[]int{3}, 4},
				key("c"): {5, []int{6}},
				key("d"): {7, 7, 1, 7},
			}
			stop := start(newController(t, m, r, controller.Options{Hooks: problems(&got)}, controller.Watches[corev1.Pod](h)))
			w := m.watch("Pod")
			for i, name := range []string{"a", "b", "c", "d"} {
				w.set(pod(name, i+1, ""), initially)
			}
			close(w.synced)
			synctest.Wait()
			if want := []any{1, 2, 5, 7}; !slices.Equal(seen, want) {
				t.Errorf("initially %v: reconciled %v, want %v", initially, seen, want)
			}
			if len(got) != 2 || !got[0].Panicked || got[0].Part != "handler" {
				t.Errorf("problems %+v", got)
			}
			stop()
		})
	}
}
