package controller_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/workqueue"
)

// doubling is the limiter of the tests: 100 ms for the first failure, twice as long for each more.
func doubling() workqueue.RateLimiter[any] {
	return workqueue.ExponentialLimiter[any](100*time.Millisecond, time.Hour)
}

func answer(result reconcile.Result, err error) func(context.Context, reconcile.Request, int) (reconcile.Result, error) {
	return func(context.Context, reconcile.Request, int) (reconcile.Result, error) { return result, err }
}

const ms = time.Millisecond

func TestRetriesFollowTheRateLimiter(t *testing.T) {
	failure := errors.New("conflict")
	for name, tc := range map[string]struct {
		answer func(ctx context.Context, req reconcile.Request, n int) (reconcile.Result, error)
		o      controller.Options
		within time.Duration
		gaps   []time.Duration
		calls  []string
	}{
		"success is the end": {
			answer: answer(reconcile.Result{}, nil), within: time.Hour,
			calls: []string{"a created×1"},
		},
		"an error backs off": {
			answer: answer(reconcile.Result{}, failure), within: 2 * time.Second,
			gaps:  []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms},
			calls: []string{"a created×1", "a retried×1", "a retried×1", "a retried×1", "a retried×1"},
		},
		"a terminal error is the end": {
			answer: answer(reconcile.Result{}, reconcile.Terminal(failure)), within: time.Hour,
			calls: []string{"a created×1"},
		},
		"a time comes again": {
			answer: answer(reconcile.Result{RequeueAfter: time.Minute}, nil), within: 150 * time.Second,
			gaps:  []time.Duration{time.Minute, time.Minute},
			calls: []string{"a created×1", "a requeued×1", "a requeued×1"},
		},
		"a time starts the backoff afresh": {
			answer: func(_ context.Context, _ reconcile.Request, n int) (reconcile.Result, error) {
				if n%3 == 0 {
					return reconcile.Result{RequeueAfter: time.Second}, nil
				}
				return reconcile.Result{}, failure
			},
			within: 2500 * ms,
			gaps:   []time.Duration{100 * ms, 200 * ms, time.Second, 100 * ms, 200 * ms},
			calls:  []string{"a created×1", "a retried×1", "a retried×1", "a requeued×1", "a retried×1", "a retried×1"},
		},
		"soon is spaced": {
			answer: answer(reconcile.Result{Requeue: true}, nil), within: 500 * ms,
			gaps:  []time.Duration{100 * ms, 200 * ms},
			calls: []string{"a created×1", "a requeued×1", "a requeued×1"},
		},
		"a panic is an error": {
			answer: func(context.Context, reconcile.Request, int) (reconcile.Result, error) { panic("oops") },
			within: 500 * ms,
			gaps:   []time.Duration{100 * ms, 200 * ms},
			calls:  []string{"a created×1", "a retried×1", "a retried×1"},
		},
		"a reconcile that takes too long": {
			answer: func(ctx context.Context, _ reconcile.Request, n int) (reconcile.Result, error) {
				if n > 1 {
					return reconcile.Result{}, nil
				}
				<-ctx.Done()
				return reconcile.Result{}, context.Cause(ctx)
			},
			o: controller.Options{ReconcileTimeout: time.Second}, within: time.Hour,
			gaps:  []time.Duration{1100 * ms},
			calls: []string{"a created×1", "a retried×1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, r := newManager(), &recorder{answer: tc.answer}
				tc.o.RateLimiter = doubling
				stop := start(newController(t, m, r.Reconcile, tc.o, forDeployments()))
				close(m.watch("Deployment").synced)
				m.watch("Deployment").set(deployment("a", 1), false)
				pass(tc.within)
				if got := r.calls(); !slices.Equal(got, tc.calls) {
					t.Errorf("calls %q, want %q", got, tc.calls)
				}
				if got := r.gaps(); !slices.Equal(got, tc.gaps) {
					t.Errorf("gaps %v, want %v", got, tc.gaps)
				}
				if err := stop(); err != nil {
					t.Errorf("Run: %v", err)
				}
			})
		})
	}
}

// A failing key has an event every 100 ms. Its backoff grows at its own deadlines only: the number of counted
// failures is that of a key without events. Each event is reconciled without delay, also the one that mends
// the cause.
func TestEventsNeitherStretchNorWaitForABackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, mended := newManager(), false
		attempts := []int{}
		r := &recorder{answer: func(context.Context, reconcile.Request, int) (reconcile.Result, error) {
			if mended {
				return reconcile.Result{}, nil
			}
			return reconcile.Result{}, errors.New("not yet")
		}}
		limiter := func() workqueue.RateLimiter[any] {
			return workqueue.ExponentialLimiter[any](130*ms, time.Hour)
		}
		o := controller.Options{RateLimiter: limiter, Hooks: controller.Hooks{
			Reconciled: func(r controller.Reconciled) { attempts = append(attempts, r.Attempt) },
		}}
		stop := start(newController(t, m, r.Reconcile, o, forDeployments()))
		w := m.watch("Deployment")
		close(w.synced)
		// Alone, the key would fail at 0, 130, 390, 910, 1950, 4030 ms: six times in 5 s.
		for version := range 50 {
			w.set(deployment("a", version+1), false)
			pass(100 * ms)
		}
		synctest.Wait()
		if n := slices.Max(attempts) - 1; n != 6 {
			t.Errorf("%d failures were counted in 5 s, want 6", n)
		}
		if n := len(r.calls()); n < 50 {
			t.Errorf("%d reconciles for 50 events", n)
		}

		pass(200 * ms)
		mended = true
		before := time.Now()
		w.set(deployment("a", 100), false)
		synctest.Wait()
		last := r.times[len(r.times)-1]
		if last.Before(before) || last.Sub(before) > ms {
			t.Errorf("the event that mends the cause was reconciled after %v", last.Sub(before))
		}
		count := len(r.calls())
		pass(time.Hour)
		if n := len(r.calls()); n != count {
			t.Errorf("%d reconciles more after success", n-count)
		}
		stop()
	})
}

// A burst of changes costs one reconcile while one is running, and that one sees the last state.
func TestBurstCostsOneReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager()
		var saw []string
		r := &recorder{answer: func(_ context.Context, req reconcile.Request, _ int) (reconcile.Result, error) {
			saw = append(saw, m.watch("Deployment").latest(req))
			time.Sleep(200 * ms)
			return reconcile.Result{}, nil
		}}
		stop := start(newController(t, m, r.Reconcile, controller.Options{Workers: 4}, forDeployments()))
		w := m.watch("Deployment")
		close(w.synced)
		for version := range 100 {
			w.set(deployment("a", version+1), false)
			pass(ms)
		}
		pass(time.Minute)
		if want := []string{"1", "100"}; !slices.Equal(saw, want) {
			t.Errorf("reconciles saw versions %v, want %v", saw, want)
		}
		if want := []string{"a created×1", "a updated×99"}; !slices.Equal(r.calls(), want) {
			t.Errorf("calls %q, want %q", r.calls(), want)
		}
		stop()
	})
}

// A conflict shows that a reconcile read an old version. Only repeated conflicts are logged as warnings.
func TestConflictsAreLoggedWhenTheyRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		m := newManager()
		m.logger = slog.New(slog.NewTextHandler(&text, nil))
		r := &recorder{answer: func(_ context.Context, _ reconcile.Request, n int) (reconcile.Result, error) {
			if n <= 5 {
				return reconcile.Result{}, fmt.Errorf("status: %w", &client.ConflictError{})
			}
			return reconcile.Result{}, nil
		}}
		stop := start(newController(t, m, r.Reconcile, controller.Options{RateLimiter: doubling}, forDeployments()))
		close(m.watch("Deployment").synced)
		m.watch("Deployment").set(deployment("a", 1), false)
		pass(time.Minute)
		stop()
		if said := text.String(); strings.Count(said, "reconcile failed") != 1 ||
			!strings.Contains(said, `level=WARN msg="reconcile failed, will be tried again" controller=test object=web/a attempt=5`) {
			t.Errorf("it says\n%s", said)
		}
	})
}

func TestLoggerHasObjectAndAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		m := newManager()
		m.logger = slog.New(slog.NewTextHandler(&text, nil))
		r := &recorder{answer: func(ctx context.Context, _ reconcile.Request, n int) (reconcile.Result, error) {
			reconcile.Logger(ctx).Info("looking")
			if n < 3 {
				return reconcile.Result{}, errors.New("conflict")
			}
			return reconcile.Result{}, nil
		}}
		stop := start(newController(t, m, r.Reconcile, controller.Options{RateLimiter: doubling}, forDeployments()))
		close(m.watch("Deployment").synced)
		m.watch("Deployment").set(deployment("a", 1), false)
		pass(time.Second)
		stop()
		for _, want := range []string{
			"msg=looking controller=test object=web/a attempt=1",
			"msg=looking controller=test object=web/a attempt=3",
			`level=WARN msg="reconcile failed, will be tried again" controller=test object=web/a attempt=2 err=conflict`,
		} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("no line with %q in\n%s", want, text.String())
			}
		}
	})
}

func TestCauseNamesTheChangedObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		stop := start(newController(t, m, r.Reconcile, controller.Options{}, forDeployments(), controller.Owns[corev1.Pod]()))
		close(m.watch("Deployment").synced)
		close(m.watch("Pod").synced)
		m.watch("Pod").set(pod("p", 7, "a"), false)
		synctest.Wait()
		m.watch("Pod").remove(key("p"))
		synctest.Wait()
		want := []reconcile.Cause{
			{Trigger: reconcile.Created, Kind: podGVK, Key: key("p"), ResourceVersion: "7", Count: 1},
			{Trigger: reconcile.Deleted, Kind: podGVK, Key: key("p"), ResourceVersion: "7", Count: 1},
		}
		if !slices.Equal(r.seen, want) {
			t.Errorf("causes %+v\nwant   %+v", r.seen, want)
		}
		stop()
	})
}

// A child drops its reference to P1, or takes another one: P1 is reconciled.
func TestFormerOwnerIsReconciled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		stop := start(newController(t, m, r.Reconcile, controller.Options{}, forDeployments(), controller.Owns[corev1.Pod]()))
		close(m.watch("Deployment").synced)
		w := m.watch("Pod")
		close(w.synced)
		for version, owner := range []string{"p1", "", "p1", "p2"} {
			w.set(pod("child", version+1, owner), false)
			synctest.Wait()
		}
		want := []string{"p1 created×1", "p1 updated×1", "p1 updated×1", "p1 updated×1", "p2 updated×1"}
		if got := r.calls(); !slices.Equal(got, want) {
			t.Errorf("calls %q, want %q", got, want)
		}
		stop()
	})
}

// The owner was deleted while the program did not run. A child that exists at the start causes a reconcile of
// the owner.
func TestDeletedOwnerIsReconciled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		stop := start(newController(t, m, r.Reconcile, controller.Options{}, forDeployments(), controller.Owns[corev1.Pod]()))
		m.watch("Pod").set(pod("child", 1, "gone"), true)
		close(m.watch("Deployment").synced)
		close(m.watch("Pod").synced)
		synctest.Wait()
		if got, want := r.calls(), []string{"gone listed×1"}; !slices.Equal(got, want) {
			t.Errorf("calls %q, want %q", got, want)
		}
		stop()
	})
}

// Objects of the first list are reconciled after objects that change.
func TestInitialListYieldsToLiveChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		stop := start(newController(t, m, r.Reconcile, controller.Options{}, forDeployments()))
		w := m.watch("Deployment")
		for _, name := range []string{"a", "b", "c"} {
			w.set(deployment(name, 1), true)
		}
		w.set(deployment("c", 2), false)
		w.set(deployment("d", 3), false)
		close(w.synced)
		synctest.Wait()
		want := []string{"c updated×2", "d created×1", "a listed×1", "b listed×1"}
		if got := r.calls(); !slices.Equal(got, want) {
			t.Errorf("calls %q, want %q", got, want)
		}
		stop()
	})
}

func TestPriorityOrdersRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		o := controller.Options{Priority: func(c reconcile.Cause) int { return len(c.Key.Name) }}
		stop := start(newController(t, m, r.Reconcile, o, forDeployments()))
		w := m.watch("Deployment")
		for _, name := range []string{"a", "aaa", "aa"} {
			w.set(deployment(name, 1), true)
		}
		close(w.synced)
		synctest.Wait()
		if got, want := r.calls(), []string{"aaa listed×1", "aa listed×1", "a listed×1"}; !slices.Equal(got, want) {
			t.Errorf("calls %q, want %q", got, want)
		}
		stop()
	})
}

// An option or hook that panics, or makes no logger, is reported. The defaults stand.
func TestPanicsOfOptionsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager()
		var mu sync.Mutex
		parts := map[string]int{}
		o := controller.Options{
			Priority: func(reconcile.Cause) int { panic("priority") },
			LogConstructor: func(_ *slog.Logger, request any, _ int) *slog.Logger {
				if request == key("a") {
					panic("logger")
				}
				return nil
			},
			Hooks: controller.Hooks{
				Reconciled: func(controller.Reconciled) { panic("reconciled") },
				Problem: func(p controller.Problem) {
					mu.Lock()
					defer mu.Unlock()
					parts[fmt.Sprint(p.Part, " ", p.Panicked)]++
					panic("problem")
				},
			},
		}
		r := &recorder{}
		c := newController(t, m, r.Reconcile, o, forDeployments())
		close(m.watch("Deployment").synced)
		stop := start(c)
		m.watch("Deployment").set(deployment("a", 1), false)
		m.watch("Deployment").set(deployment("b", 1), false)
		pass(time.Second)
		if got := len(r.calls()); got != 2 || c.State().Phase != controller.Working {
			t.Errorf("%d reconciles, %v", got, c.State())
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if got := fmt.Sprint(parts); got != "map[hook true:2 logger false:1 logger true:1 priority true:2]" {
			t.Errorf("problems: %v", got)
		}
	})
}

func TestHooksSeeEveryReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager()
		var got []controller.Reconciled
		o := controller.Options{RateLimiter: doubling, ReconcileTimeout: 20 * ms, Hooks: controller.Hooks{
			Reconciled: func(r controller.Reconciled) { got = append(got, r) },
		}}
		r := &recorder{answer: func(ctx context.Context, _ reconcile.Request, n int) (reconcile.Result, error) {
			time.Sleep(10 * ms)
			switch n {
			case 4:
				<-ctx.Done()
			case 1:
				panic("oops")
			case 2:
				return reconcile.Result{}, reconcile.Terminal(errors.New("spec"))
			}
			return reconcile.Result{}, nil
		}}
		stop := start(newController(t, m, r.Reconcile, o, forDeployments()))
		close(m.watch("Deployment").synced)
		m.watch("Deployment").set(deployment("a", 1), false)
		pass(time.Second)
		m.watch("Deployment").set(deployment("a", 2), false)
		pass(time.Second)
		m.watch("Deployment").set(deployment("a", 3), false)
		pass(time.Second)
		stop()
		var panicked *run.PanicError
		switch {
		case len(got) != 4:
			t.Fatalf("%d calls, want 4: %+v", len(got), got)
		case got[0].TimedOut || got[1].TimedOut || got[2].TimedOut || !got[3].TimedOut || got[3].Took != 20*ms:
			t.Errorf("who timed out: %+v", got)
		case got[0].Outcome != controller.Failed || !got[0].Panicked || !errors.As(got[0].Err, &panicked) || got[0].Took != 10*ms || got[0].Controller != "test":
			t.Errorf("the panic: %+v", got[0])
		case got[1].Outcome != controller.Terminal || got[1].Attempt != 2 || got[1].Panicked:
			t.Errorf("the terminal error: %+v", got[1])
		case got[2].Outcome != controller.Success || got[2].Attempt != 1 || got[2].Cause.Trigger != reconcile.Updated || got[2].Request != (reconcile.Request{Namespace: "web", Name: "a"}):
			t.Errorf("the success: %+v", got[2])
		}
	})
}
