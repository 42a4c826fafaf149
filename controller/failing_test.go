package controller_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
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

// A handler that fails on every object for five minutes is in the state of its controller. One that fails
// on single objects is not. The failures of both are counted.
func TestFailingSourceIsInTheState(t *testing.T) {
	for _, tt := range []struct {
		name  string
		bad   []string // objects on which the handler fails
		first string   // an object that exists at the start; "": none
		calls int      // updates of the object "fine", one a minute
		fails bool
	}{
		{"on all", []string{"a", "b"}, "fine", 0, true},
		{"on the only one", []string{"a"}, "", 0, true},
		{"on one of several", []string{"a"}, "fine", 0, false},
		{"on some, while others are in order", []string{"a", "b"}, "fine", 120, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, r := newManager(), &recorder{}
				cause := errors.New("index not synced")
				var works atomic.Bool
				h := handler.Map(func(_ context.Context, p *corev1.Pod) ([]reconcile.Request, error) {
					if !works.Load() && slices.Contains(tt.bad, p.Name) {
						return nil, cause
					}
					return nil, nil
				})
				c := newController(t, m, r.Reconcile, controller.Options{}, controller.WithoutFor(), controller.Watches[corev1.Pod](h))
				if all := c.SourceFailures(); all != nil {
					t.Errorf("before it runs: %v", all)
				}
				stop := start(c)
				w := m.watch("Pod")
				if tt.first != "" {
					w.set(pod(tt.first, 1, ""), true)
				}
				close(w.synced)
				synctest.Wait()
				for i, name := range tt.bad {
					w.set(pod(name, i+2, ""), false)
				}
				synctest.Wait()
				began := time.Now()
				pass(5*time.Minute - 1)
				if err := c.State().Err; err != nil {
					t.Errorf("before five minutes: %v", err)
				}
				for i := range tt.calls {
					w.set(pod("fine", i+10, ""), false)
					pass(time.Minute)
				}
				if tt.calls == 0 {
					pass(time.Hour)
				}
				var f *controller.FailingError
				if err := c.State().Err; errors.As(err, &f) != tt.fails || tt.fails && !errors.Is(err, cause) {
					t.Errorf("state %v, want it: %v", err, tt.fails)
				}
				if f != nil && (len(f.Sources) != 1 || f.Sources[0].Source != "Watches(Pod)" || !f.Sources[0].Since.Equal(began) ||
					!strings.Contains(f.Error(), fmt.Sprintf(", on %d objects: web/", len(tt.bad)))) {
					t.Errorf("%+v: %v", f.Sources, f)
				}
				if all := c.SourceFailures(); len(all) != 1 || all[0].Objects != len(tt.bad) {
					t.Errorf("%+v", all)
				}
				works.Store(true)
				pass(5 * time.Minute)
				if all := c.SourceFailures(); len(all) != 1 || !reflect.DeepEqual(all[0], controller.SourceFailure{Source: "Watches(Pod)"}) || c.State().Err != nil {
					t.Errorf("after it works: %+v, %v", all, c.State().Err)
				}
				if err := stop(); err != nil || c.State().Err != nil {
					t.Errorf("%v, %v", err, c.State())
				}
			})
		})
	}
}

// A failed event that a later change of its object replaced is not counted.
func TestFailureEndsWithAChangeOfTheObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		h := failing{func(c store.Change) error {
			if c.New != nil && c.New.ResourceVersion() == "2" && c.Old == nil {
				return errors.New("not this")
			}
			return nil
		}}
		c := newController(t, m, r.Reconcile, controller.Options{}, controller.WithoutFor(), controller.Watches[corev1.Pod](h))
		stop := start(c)
		w := m.watch("Pod")
		close(w.synced)
		w.set(pod("a", 2, ""), false)
		pass(time.Hour)
		if all := c.SourceFailures(); all[0].Objects != 1 || c.State().Err == nil {
			t.Errorf("%+v, %v", all, c.State())
		}
		stop()
		if all := c.SourceFailures(); all != nil || c.State().Err != nil {
			t.Errorf("stopped: %+v, %v", all, c.State())
		}
	})
}

// A handler that does not return is in the state, and so is a function of Requests that keeps failing.
func TestHangingOrEndingSourceIsInTheState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		hold := make(chan struct{})
		var broken atomic.Bool
		broken.Store(true)
		h := handler.MapHeader(func(context.Context, *object.Header) ([]reconcile.Request, error) { <-hold; return nil, nil })
		feed := func(ctx context.Context, _ func(reconcile.Request)) error {
			if broken.Load() {
				return errors.New("no broker")
			}
			<-ctx.Done()
			return nil
		}
		c := newController(t, m, r.Reconcile, controller.Options{}, controller.WithoutFor(), controller.Watches[corev1.Pod](h), controller.Requests(feed))
		stop := start(c)
		w := m.watch("Pod")
		close(w.synced)
		synctest.Wait()
		w.set(pod("a", 1, ""), false)
		pass(4 * time.Minute)
		if err := c.State().Err; err != nil {
			t.Errorf("early: %v", err)
		}
		pass(2 * time.Minute)
		var slow *controller.OverdueError
		if err := c.State().Err; !errors.As(err, &slow) || slow.Key != key("a") || !strings.Contains(err.Error(), "no broker") {
			t.Errorf("%v", err)
		}
		close(hold)
		broken.Store(false)
		synctest.Wait()
		if err := c.State().Err; errors.As(err, &slow) {
			t.Errorf("after it has returned: %v", err)
		}
		pass(3 * time.Minute)
		if err := c.State().Err; err != nil {
			t.Errorf("after the feed has run for minutes: %v", err)
		}
		stop()
	})
}
