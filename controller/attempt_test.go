package controller_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/reconcile"
)

// A successful reconcile is logged at level debug. The level is that of the logger of the reconcile.
func TestSuccessIsLoggedAtDebug(t *testing.T) {
	for name, tc := range map[string]struct {
		base   slog.Level
		own    slog.Leveler // of the logger of LogConstructor; nil: there is no LogConstructor
		silent bool
	}{
		"base":          {base: slog.LevelDebug},
		"quiet base":    {base: slog.LevelInfo, silent: true},
		"its own":       {base: slog.LevelInfo, own: slog.LevelDebug},
		"its own quiet": {base: slog.LevelDebug, own: slog.LevelInfo, silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var text bytes.Buffer
				m, r := newManager(), &recorder{}
				m.logger = slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: tc.base}))
				var o controller.Options
				want := "level=DEBUG msg=reconciled controller=test object=web/a attempt=1 outcome=success"
				if tc.own != nil {
					want = "level=DEBUG msg=reconciled own=true outcome=success"
					o.LogConstructor = func(*slog.Logger, any, int) *slog.Logger {
						return slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: tc.own})).With("own", true)
					}
				}
				stop := start(newController(t, m, r.Reconcile, o, forDeployments()))
				m.watch("Deployment").set(deployment("a", 1), true)
				close(m.watch("Deployment").synced)
				synctest.Wait()
				stop()
				if got := strings.Contains(text.String(), want); got == tc.silent {
					t.Errorf("it says\n%s", text.String())
				}
			})
		})
	}
}

// All goroutines of a reconcile get the same logger.
func TestGoroutinesOfAReconcileShareItsLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager()
		r := &recorder{answer: func(ctx context.Context, _ reconcile.Request, _ int) (reconcile.Result, error) {
			all := make(chan *slog.Logger)
			for range 8 {
				go func() { all <- reconcile.Logger(ctx) }()
			}
			first := <-all
			for range 7 {
				if l := <-all; l != first || l == nil {
					return reconcile.Result{}, reconcile.Terminal(fmt.Errorf("%p and %p", first, l))
				}
			}
			return reconcile.Result{}, nil
		}}
		var outcomes []controller.Outcome
		o := controller.Options{Hooks: controller.Hooks{Reconciled: func(r controller.Reconciled) { outcomes = append(outcomes, r.Outcome) }}}
		stop := start(newController(t, m, r.Reconcile, o, forDeployments()))
		m.watch("Deployment").set(deployment("a", 1), true)
		close(m.watch("Deployment").synced)
		synctest.Wait()
		stop()
		if len(outcomes) != 1 || outcomes[0] != controller.Success {
			t.Errorf("outcomes %v", outcomes)
		}
	})
}
