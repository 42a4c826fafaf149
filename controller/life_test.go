package controller_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/run"
)

func TestWorkersWaitForEverySource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		c := newController(t, m, r.Reconcile, controller.Options{Workers: 3}, forDeployments(), controller.Owns[corev1.Pod]())
		stop := start(c)
		m.watch("Deployment").set(deployment("a", 1), true)
		close(m.watch("Deployment").synced)
		pass(time.Minute)
		if got := r.calls(); len(got) != 0 || c.State().Phase != controller.Syncing {
			t.Errorf("%v, reconciled %q before the Pods were there", c.State(), got)
		}
		m.watch("Pod").set(pod("p", 1, "b"), true)
		close(m.watch("Pod").synced)
		synctest.Wait()
		if got := r.calls(); len(got) != 2 || c.State() != (controller.State{Phase: controller.Working}) {
			t.Errorf("%v, reconciled %q; want a and b", c.State(), got)
		}
		stop()
		if c.State().Phase != controller.Stopped {
			t.Errorf("%v after Run", c.State())
		}
	})
}

// A forbidden kind is in the state within seconds and is logged once. Workers start without it after ten seconds. When
// it is allowed everything is reconciled again.
func TestForbiddenKindIsNamedAndNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		m, r := newManager(), &recorder{}
		m.logger = slog.New(slog.NewTextHandler(&text, nil))
		forbidden := errors.New("forbidden: list pods")
		c := newController(t, m, r.Reconcile, controller.Options{}, forDeployments(), controller.Owns[corev1.Pod]())
		m.watch("Pod").fail(forbidden)
		stop := start(c)
		m.watch("Deployment").set(deployment("a", 1), true)
		close(m.watch("Deployment").synced)
		named := func(phase controller.Phase) {
			t.Helper()
			s := c.State()
			if e, ok := errors.AsType[*controller.SyncError](s.Err); s.Phase != phase || !ok || !errors.Is(e, forbidden) ||
				e.Error() != `controller "test": not synced: Owns(Pod): forbidden: list pods` {
				t.Errorf("%v, want %v", s, phase)
			}
		}
		pass(3 * time.Second)
		if named(controller.Syncing); len(r.calls()) != 0 {
			t.Errorf("calls %q after three seconds", r.calls())
		}
		pass(8 * time.Second)
		if named(controller.Working); !slices.Equal(r.calls(), []string{"a listed×1"}) {
			t.Errorf("calls %q after eleven seconds", r.calls())
		}
		pass(time.Hour)
		if n, m := strings.Count(text.String(), "level=ERROR"), strings.Count(text.String(), "level=WARN"); n != 1 || m != 1 {
			t.Errorf("%d errors, want one for the source, and %d warnings, want one of the start:\n%s", n, m, text.String())
		}
		m.watch("Pod").fail(nil)
		m.watch("Pod").set(pod("p", 1, "b"), true)
		close(m.watch("Pod").synced)
		pass(2 * time.Second)
		if got := r.calls(); !slices.Equal(got, []string{"a listed×1", "b listed×1", "a resynced×1"}) || c.State() != (controller.State{Phase: controller.Working}) {
			t.Errorf("%v, calls %q once the permission was there", c.State(), got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A kind that the server does not serve holds up nothing if it is optional, also with RequireSync. Whatever else is
// wrong with it does.
func TestOptionalKinds(t *testing.T) {
	unserved := func(gvk schema.GroupVersionKind) error {
		return fmt.Errorf("list: %w", &client.NotServedError{GVK: gvk})
	}
	for name, tt := range map[string]struct {
		err  error
		want bool // it works at once
	}{
		"not served":              {unserved(podGVK), true},
		"unknown to the mapper":   {&meta.NoKindMatchError{GroupKind: podGVK.GroupKind()}, true},
		"another is not served":   {unserved(nodeGVK), false},
		"forbidden":               {errors.New("forbidden"), false},
		"no answer":               {nil, false},
		"owners are not served":   {unserved(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}), false},
		"another version of ours": {unserved(schema.GroupVersionKind{Version: "v2", Kind: "Pod"}), true},
	} {
		for _, require := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, %v", name, require), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m, r := newManager(), &recorder{}
					c := newController(t, m, r.Reconcile, controller.Options{RequireSync: require}, forDeployments(), controller.Owns[corev1.Pod]().Optional())
					m.watch("Pod").fail(tt.err)
					stop := start(c)
					m.watch("Deployment").set(deployment("a", 1), true)
					close(m.watch("Deployment").synced)
					pass(2 * time.Second)
					if s := c.State(); (s == controller.State{Phase: controller.Working}) != tt.want || len(r.calls()) == 1 != tt.want {
						t.Errorf("%v, calls %q", s, r.calls())
					}
					var kinds []string
					for _, o := range c.OptionalKinds(nil) {
						kinds = append(kinds, o.GetObjectKind().GroupVersionKind().Kind)
					}
					if !slices.Equal(kinds, []string{"Pod"}) {
						t.Errorf("optional kinds %q", kinds)
					}
					pass(3 * time.Minute)
					if err := stop(); (err != nil) != (require && !tt.want) {
						t.Errorf("Run: %v", err)
					}
				})
			})
		}
	}
}

func TestRequireSyncFailsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		c := newController(t, m, r.Reconcile, controller.Options{RequireSync: true}, forDeployments(), controller.Owns[corev1.Pod]())
		began := time.Now()
		m.watch("Pod").fail(errors.New("connection refused"))
		err := c.Run(context.Background())
		var unsynced *controller.SyncError
		if !errors.As(err, &unsynced) || len(unsynced.Sources) != 2 ||
			err.Error() != `controller "test": not synced: For(Deployment); Owns(Pod): connection refused` {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(began); took != 2*time.Minute {
			t.Errorf("after %v, want the default of 2m", took)
		}
		if s := c.State(); s.Phase != controller.Stopped || s.Err != err {
			t.Errorf("state %+v", s)
		}
	})
}

// Opening a watch is tried again until the kind exists.
func TestSubscribeIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		tries := 0
		m.refuse = func(kind string) error {
			if tries++; tries < 4 {
				return fmt.Errorf("no kind %s", kind)
			}
			return nil
		}
		c := newController(t, m, r.Reconcile, controller.Options{}, forDeployments())
		close(m.watch("Deployment").synced)
		stop := start(c)
		pass(2 * time.Second)
		if err := c.State().Err; err == nil || !strings.Contains(err.Error(), "For(Deployment): no kind Deployment") {
			t.Errorf("state %v", err)
		}
		pass(10 * time.Second)
		if s := c.State(); s.Phase != controller.Working || s.Err != nil || tries != 4 {
			t.Errorf("%+v after %d tries", s, tries)
		}
		stop()
	})
}

func TestStopLetsReconcilesFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager()
		r := &recorder{answer: func(ctx context.Context, _ reconcile.Request, _ int) (reconcile.Result, error) {
			time.Sleep(20 * time.Second)
			return reconcile.Result{}, ctx.Err()
		}}
		c := newController(t, m, r.Reconcile, controller.Options{Workers: 2}, forDeployments())
		stop := start(c)
		w := m.watch("Deployment")
		close(w.synced)
		for _, name := range []string{"a", "b", "waits"} {
			w.set(deployment(name, 1), false)
		}
		pass(time.Second)
		began := time.Now()
		result := make(chan error)
		go func() { result <- stop() }()
		synctest.Wait()
		if c.State().Phase != controller.Stopping || c.Enqueue(key("late")) {
			t.Errorf("%v, or takes new work", c.State())
		}
		w.calls.Lock()
		if w.closed {
			t.Error("the watch was closed before the reconciles that read from it had ended")
		}
		w.calls.Unlock()
		w.set(deployment("late", 2), false)
		if err := <-result; err != nil {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(began); took != 19*time.Second {
			t.Errorf("stopped after %v, want the 19 s that the reconciles had still to go", took)
		}
		if got := r.calls(); len(got) != 2 || r.running != 0 {
			t.Errorf("calls %q, %d still running", got, r.running)
		}
		if !w.closed {
			t.Error("the watch is still open")
		}
	})
}

func TestGracePeriodCancelsReconciles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager()
		var cause error
		r := &recorder{answer: func(ctx context.Context, _ reconcile.Request, _ int) (reconcile.Result, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return reconcile.Result{}, cause
		}}
		stop := start(newController(t, m, r.Reconcile, controller.Options{}, forDeployments()))
		close(m.watch("Deployment").synced)
		m.watch("Deployment").set(deployment("a", 1), false)
		pass(time.Hour)
		began := time.Now()
		if err := stop(); !errors.Is(err, controller.ErrGraceEnded) {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(began); took != m.grace || !errors.Is(cause, controller.ErrGraceEnded) {
			t.Errorf("cancelled after %v for %v", took, cause)
		}
	})
}

// Without a grace period running reconciles are cancelled at once.
func TestNoGracePeriodCancelsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager()
		m.grace = 0
		r := &recorder{answer: func(ctx context.Context, _ reconcile.Request, _ int) (reconcile.Result, error) {
			<-ctx.Done()
			return reconcile.Result{}, context.Cause(ctx)
		}}
		c := newController(t, m, r.Reconcile, controller.Options{Workers: 4}, forDeployments())
		for _, busy := range []bool{false, true} {
			m.watches = map[string]*watch{}
			stop := start(c)
			close(m.watch("Deployment").synced)
			if busy {
				m.watch("Deployment").set(deployment("a", 1), false)
			}
			synctest.Wait()
			if err := stop(); errors.Is(err, controller.ErrGraceEnded) != busy || err != nil && !busy {
				t.Errorf("busy %v: %v", busy, err)
			}
		}
	})
}

func TestStopWhileSyncing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		m.refuse = func(kind string) error {
			if kind == "Pod" {
				return errors.New("no such kind")
			}
			return nil
		}
		stop := start(newController(t, m, r.Reconcile, controller.Options{}, forDeployments(), controller.Owns[corev1.Pod]()))
		m.watch("Deployment").set(deployment("a", 1), true)
		began := time.Now()
		if err := stop(); err != nil || time.Since(began) != 0 || len(r.calls()) != 0 {
			t.Errorf("%v after %v, calls %q", err, time.Since(began), r.calls())
		}
	})
}

func TestRunsAgainButNotTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		c := newController(t, m, r.Reconcile, controller.Options{}, forDeployments())
		for round := range 3 {
			m.watches = map[string]*watch{}
			stop := start(c)
			if err := c.Run(context.Background()); !errors.Is(err, run.ErrRunning) {
				t.Errorf("a second Run: %v", err)
			}
			m.watch("Deployment").set(deployment(fmt.Sprint(round), 1), true)
			close(m.watch("Deployment").synced)
			synctest.Wait()
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
		if got, want := r.calls(), []string{"0 listed×1", "1 listed×1", "2 listed×1"}; !slices.Equal(got, want) {
			t.Errorf("calls %q, want %q", got, want)
		}
	})
}

func TestStopOnPanicFailsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager()
		r := &recorder{answer: func(_ context.Context, req reconcile.Request, _ int) (reconcile.Result, error) {
			time.Sleep(time.Second)
			if req.Name == "bad" {
				panic("oops")
			}
			time.Sleep(time.Second)
			return reconcile.Result{}, nil
		}}
		c := newController(t, m, r.Reconcile, controller.Options{Workers: 2, StopOnPanic: true}, forDeployments())
		w := m.watch("Deployment")
		close(w.synced)
		done := make(chan error)
		go func() { done <- c.Run(context.Background()) }()
		synctest.Wait()
		w.set(deployment("good", 1), false)
		w.set(deployment("bad", 1), false)
		var panicked *run.PanicError
		if err := <-done; !errors.As(err, &panicked) || r.running != 0 {
			t.Errorf("Run: %v, %d still running", err, r.running)
		}
	})
}

func TestEnqueueCountsInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager()
		r := &recorder{answer: func(context.Context, reconcile.Request, int) (reconcile.Result, error) {
			time.Sleep(time.Second)
			return reconcile.Result{}, nil
		}}
		c := newController(t, m, r.Reconcile, controller.Options{}, forDeployments())
		if c.Enqueue(key("a")) || c.QueueStats().Depth != 0 || c.Name() != "test" {
			t.Error("a controller that does not run took a request")
		}
		stop := start(c)
		close(m.watch("Deployment").synced)
		synctest.Wait()
		c.Enqueue(key("a"))
		c.Enqueue(key("b"))
		synctest.Wait()
		if s := c.QueueStats(); s.InFlight != 1 || s.Depth != 1 {
			t.Errorf("stats %+v", s)
		}
		pass(time.Minute)
		if got, want := r.calls(), []string{"a generic×1", "b generic×1"}; !slices.Equal(got, want) {
			t.Errorf("calls %q, want %q", got, want)
		}
		stop()
	})
}

// The functions that a controller calls may call its methods.
func TestCallbacksMayCallTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *controller.Controller[reconcile.Request]
		m := newManager()
		o := controller.Options{Workers: 4, Hooks: controller.Hooks{Waited: func(time.Duration) { _ = c.State() }, Worked: func(time.Duration) { _ = c.State() }}}
		o.Priority = func(reconcile.Cause) int {
			_, _ = c.State(), c.QueueStats()
			return 0
		}
		r := func(context.Context, reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, nil
		}
		c = newController(t, m, r, o, forDeployments())
		stop := start(c)
		close(m.watch("Deployment").synced)
		synctest.Wait()
		go func() {
			for range 2000 {
				_, _ = c.QueueStats(), c.QueueDepths()
			}
		}()
		for i := range 2000 {
			if !c.Enqueue(key(fmt.Sprint(i))) {
				t.Fatal("not taken")
			}
		}
		synctest.Wait()
		stop()
	})
}

// stuckLog is a log handler that blocks.
type stuckLog struct {
	slog.Handler
	hold chan struct{}
}

func (s stuckLog) Handle(context.Context, slog.Record) error { <-s.hold; return nil }
func (s stuckLog) WithAttrs([]slog.Attr) slog.Handler        { return s }

// A logger of a controller that blocks delays no reconcile.
func TestBlockedLogDelaysNoReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		log := stuckLog{slog.NewTextHandler(io.Discard, nil), make(chan struct{})}
		stop := start(newController(t, m, r.Reconcile, controller.Options{Logger: slog.New(log)}, controller.For[corev1.Pod]()))
		w := m.watch("Pod")
		close(w.synced)
		w.set(pod("a", 1, ""), true)
		pass(10 * time.Second)
		if calls := r.calls(); !slices.Equal(calls, []string{"a listed×1"}) {
			t.Errorf("calls %q", calls)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		close(log.hold)
	})
}
