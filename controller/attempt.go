package controller

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/workqueue"
)

// persistent is the attempt from which a failure is no longer a passing one: it is then logged
// as an error; a conflict, which is no failure before, as a warning.
const persistent = 5

// attempt is one reconcile, and what that may know of itself.
type attempt[R comparable] struct {
	*running[R]
	item   workqueue.Item[R, reconcile.Cause]
	number int // 1 for the first since the last success

	once   sync.Once
	logger *slog.Logger // made when first asked for: most reconciles log nothing
}

// Cause implements reconcile.Info.
func (a *attempt[R]) Cause() reconcile.Cause { return a.item.Value }

// Logger implements reconcile.Info.
func (a *attempt[R]) Logger() *slog.Logger {
	a.once.Do(a.makeLogger)
	return a.logger
}

var errNoLogger = errors.New("Options.LogConstructor returned nil")

// makeLogger asks the option; one that panics or makes none leaves it at the default.
func (a *attempt[R]) makeLogger() {
	if a.o.LogConstructor != nil {
		err := run.Safely("Options.LogConstructor", func() error {
			if a.logger = a.o.LogConstructor(a.running.logger, a.item.Key, a.number); a.logger == nil {
				return errNoLogger
			}
			return nil
		})
		if err == nil {
			return
		}
		a.own.problem(partLogger, err)
	}
	a.logger = a.running.logger.With("object", a.item.Key, "attempt", a.number)
}

// debugs reports whether anybody wants to know how the reconcile went.
func (a *attempt[R]) debugs(ctx context.Context) bool {
	l := a.running.logger
	if a.o.LogConstructor != nil {
		l = a.Logger()
	}
	return l.Enabled(ctx, slog.LevelDebug)
}

func (a *attempt[R]) log(ctx context.Context, do action, err error, p *run.PanicError, took time.Duration) {
	switch {
	case p != nil:
		a.Logger().Error("reconcile panicked", "err", err, "took", took, "stack", string(p.Stack))
	case do.outcome == Terminal:
		a.Logger().Error("reconcile failed, not tried again until something changes", "err", err, "took", took)
	case do.outcome == Failed:
		level, later := slog.LevelWarn, slog.LevelError
		if c, ok := errors.AsType[*client.ConflictError](err); ok && len(c.Fields) == 0 {
			level, later = slog.LevelDebug, slog.LevelWarn // decided on an old view, it is decided again
		}
		if a.number >= persistent {
			level = later
		}
		a.Logger().Log(ctx, level, "reconcile failed, will be tried again", "err", err, "took", took)
	case a.debugs(ctx):
		a.Logger().Debug("reconciled", "outcome", do.outcome.String(), "took", took)
	}
}
