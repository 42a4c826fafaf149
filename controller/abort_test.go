package controller_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/reconcile"
)

var errLost = errors.New("the lease is lost")

// An abort cancels running reconciles at once with its cause, whenever it comes.
func TestAbortCancelsReconcilesAtOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		stop, abort time.Duration // after the start of the reconcile; the earlier one first
	}{
		"before the stop":               {2 * time.Second, time.Second},
		"as the stop":                   {time.Second, time.Second},
		"while reconciles still run":    {time.Second, 2 * time.Second},
		"when the grace is nearly over": {time.Second, 29 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newManager()
				var cause error
				var ended time.Time
				r := &recorder{answer: func(ctx context.Context, _ reconcile.Request, _ int) (reconcile.Result, error) {
					<-ctx.Done()
					cause, ended = context.Cause(ctx), time.Now()
					return reconcile.Result{}, cause
				}}
				c := newController(t, m, r.Reconcile, controller.Options{}, forDeployments())
				ctx, stop := context.WithCancel(t.Context())
				abort, lose := context.WithCancelCause(context.Background())
				defer lose(nil)
				result := make(chan error, 1)
				go func() { result <- c.Run(controller.WithAbort(ctx, abort)) }()
				synctest.Wait()
				close(m.watch("Deployment").synced)
				m.watch("Deployment").set(deployment("a", 1), false)
				synctest.Wait()
				began := time.Now()
				time.AfterFunc(tc.abort, func() { lose(errLost) })
				time.AfterFunc(tc.stop, stop)
				if err := <-result; err != nil {
					t.Errorf("Run: %v", err)
				}
				stop()
				if !errors.Is(cause, errLost) || ended.Sub(began) != tc.abort {
					t.Errorf("cancelled after %v for %v", ended.Sub(began), cause)
				}
			})
		})
	}
}

// instrumented is a manager whose hooks record their calls.
type instrumented struct {
	*manager
	mu    sync.Mutex
	heard []string
}

func (m *instrumented) ControllerHooks(name string, workers int) controller.Hooks {
	return controller.Hooks{
		Reconciled: func(controller.Reconciled) { m.hear(name) },
		Problem:    func(controller.Problem) { m.hear("problem") },
		Waited:     func(time.Duration) { m.hear("wait") },
		Worked:     func(time.Duration) { m.hear("work") },
	}
}

func (m *instrumented) hear(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heard = append(m.heard, what)
}

// The hooks of the manager are called in addition to those of the options.
func TestHooksOfTheManagerAreCalledToo(t *testing.T) {
	for name, own := range map[string]bool{"alone": false, "beside others": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &instrumented{manager: newManager()}
				var heard []string
				o := controller.Options{}
				if own {
					hear := func(what string) { heard = append(heard, what) }
					o.Hooks = controller.Hooks{
						Reconciled: func(controller.Reconciled) { hear("test") },
						Problem:    func(controller.Problem) { hear("problem") },
						Waited:     func(time.Duration) { hear("wait") },
						Worked:     func(time.Duration) { hear("work") },
					}
				}
				o.Priority = func(reconcile.Cause) int { panic("no priority") }
				c, err := controller.NewWith(m, "test", new(recorder).Reconcile, o, one(forDeployments())...)
				if err != nil {
					t.Fatal(err)
				}
				stop := start(c)
				close(m.watch("Deployment").synced)
				m.watch("Deployment").set(deployment("a", 1), false)
				synctest.Wait()
				if err := stop(); err != nil {
					t.Error(err)
				}
				want := []string{"problem", "wait", "test", "work"}
				if !slices.Equal(m.heard, want) {
					t.Errorf("the manager heard %q, want %q", m.heard, want)
				}
				if own && !slices.Equal(heard, want) {
					t.Errorf("the options heard %q, want %q", heard, want)
				}
			})
		})
	}
}

func TestEveryReplicaIsTheOption(t *testing.T) {
	for _, every := range []bool{false, true} {
		c := newController(t, newManager(), new(recorder).Reconcile, controller.Options{EveryReplica: every}, one(forDeployments())...)
		if c.EveryReplica() != every {
			t.Errorf("%v", c.EveryReplica())
		}
	}
}
