package controller_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/predicate"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/store"
)

// resyncing is a manager with a resync period.
type resyncing struct {
	cached
	period time.Duration
}

func (m resyncing) ResyncPeriod() time.Duration { return m.period }

// Each object is reconciled again once in each period, spread over it, whatever the predicates report, with For
// and without it. The period is that of the controller, or else that of the manager.
func TestResyncReconcilesEachObjectOncePerPeriod(t *testing.T) {
	no := predicate.Func(func(c store.Change) bool { return c.Initial })
	withFor := []controller.Source[reconcile.Request]{controller.For[corev1.ConfigMap](predicate.ResourceVersionChanged(), no)}
	without := []controller.Source[reconcile.Request]{controller.WithoutFor(), controller.Watches[corev1.ConfigMap](handler.Self(), no)}
	for _, tc := range []struct {
		name        string
		mgr, option time.Duration
		sources     []controller.Source[reconcile.Request]
		every       time.Duration
	}{
		{"option", 0, time.Hour, withFor, time.Hour},
		{"manager", time.Hour, 0, withFor, time.Hour},
		{"option before manager", time.Minute, time.Hour, withFor, time.Hour},
		{"never", time.Hour, -1, withFor, 0},
		{"no period", 0, 0, withFor, 0},
		{"without For", 0, time.Hour, without, time.Hour},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n, rounds = 300, 3
				m, s, end := newCached(t, io.Discard)
				defer end()
				for i := range n {
					s.Put(testobj.ConfigMap(fmt.Sprintf("web/c%03d", i)))
				}
				pass(time.Minute)
				r := &recorder{}
				c, err := controller.NewWith(resyncing{m, tc.mgr}, "test", r.Reconcile, controller.Options{Resync: tc.option}, tc.sources...)
				if err != nil {
					t.Fatal(err)
				}
				defer start(c)()
				if got := len(r.calls()); got != n {
					t.Fatalf("%d reconciles at first", got)
				}
				pass(rounds * time.Hour)
				pass(time.Minute)
				again := r.calls()[n:]
				if tc.every == 0 {
					if len(again) != 0 {
						t.Errorf("%d resyncs", len(again))
					}
					return
				}
				times := map[string]int{}
				for _, call := range again {
					name, ok := strings.CutSuffix(call, " resynced×1")
					if !ok {
						t.Fatalf("%q", call)
					}
					times[name]++
				}
				for name, k := range times {
					if k != rounds && k != rounds+1 {
						t.Errorf("%s was reconciled %d times", name, k)
					}
				}
				if len(times) != n {
					t.Errorf("%d objects were", len(times))
				}
				most, at := 0, map[time.Duration]int{}
				for _, when := range r.times[n:] {
					k := when.Sub(r.times[0]).Truncate(time.Minute)
					at[k]++
					most = max(most, at[k])
				}
				if most > 3*n/60 {
					t.Errorf("%d in one minute, of %d in an hour", most, n)
				}
			})
		})
	}
}

// A resync replaces no waiting change.
func TestResyncReplacesNoChange(t *testing.T) {
	change := reconcile.Cause{Trigger: reconcile.Updated, Count: 2}
	resync := reconcile.Cause{Trigger: reconcile.Resynced, Count: 1}
	retry := reconcile.Cause{Trigger: reconcile.Retried, Count: 1}
	for _, tc := range []struct{ first, later, want reconcile.Cause }{
		{change, resync, change},
		{resync, change, change},
		{retry, resync, resync},
		{resync, retry, resync},
		{resync, resync, reconcile.Cause{Trigger: reconcile.Resynced, Count: 2}},
	} {
		if got := tc.first.Merge(tc.later); got != tc.want {
			t.Errorf("%v, then %v: %v, want %v", tc.first, tc.later, got, tc.want)
		}
	}
}

// Objects that are created, changed or deleted during a resync are reconciled for that.
func TestChangesDuringAResyncAreReconciled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s, end := newCached(t, io.Discard)
		defer end()
		for i := range 20 {
			s.Put(testobj.ConfigMap(fmt.Sprintf("web/c%02d", i)))
		}
		pass(time.Minute)
		r := &recorder{}
		c, err := controller.NewWith(m, "test", r.Reconcile, controller.Options{Resync: time.Hour}, controller.For[corev1.ConfigMap]())
		if err != nil {
			t.Fatal(err)
		}
		defer start(c)()
		pass(30 * time.Minute)
		s.Delete(key("c15"))
		s.Put(testobj.ConfigMap("web/b"))   // before the present position of the resync
		s.Put(testobj.ConfigMap("web/c99")) // after it
		synctest.Wait()
		n := len(r.calls())
		pass(31 * time.Minute)
		again := r.calls()[n:]
		if slices.Contains(again, "c15 resynced×1") || !slices.Contains(again, "c99 resynced×1") {
			t.Errorf("%q", again)
		}
	})
}
