package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/ctxkey"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/workqueue"
)

// persistent is the attempt from which failures are logged as errors, and conflicts as warnings. Before it
// they are logged one level lower: they often pass by themselves.
const persistent = 5

// attempt is one reconcile.
type attempt[R comparable] struct {
	*running[R]
	item   workqueue.Item[R, reconcile.Cause]
	number int // see Reconciled.Attempt
	began  time.Time

	once   sync.Once
	logger *slog.Logger // made by the first call of Logger: most reconciles log nothing
}

// attemptContext is the context of an attempt. It makes the logger on demand.
type attemptContext[R comparable] struct {
	context.Context
	a *attempt[R]
}

// Value implements context.Context.
func (c attemptContext[R]) Value(key any) any {
	switch key.(type) {
	case ctxkey.Cause:
		return c.a.item.Value
	case ctxkey.Logger:
		return c.a.Logger()
	}
	return c.Context.Value(key)
}

// Logger returns the logger of the attempt. Several goroutines may call it.
func (a *attempt[R]) Logger() *slog.Logger {
	a.once.Do(a.makeLogger)
	return a.logger
}

var errNoLogger = errors.New("Options.LogConstructor returned nil")

// makeLogger calls Options.LogConstructor. The default stands if that is nil, panics or returns nil.
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
	a.logger = a.running.logger.With("object", fmt.Sprint(a.item.Key), "attempt", a.number)
}

// debugs reports whether the level debug is logged.
func (a *attempt[R]) debugs(ctx context.Context) bool {
	l := a.running.logger
	if a.o.LogConstructor != nil {
		l = a.Logger()
	}
	return l.Enabled(ctx, slog.LevelDebug)
}

// log tells how the reconcile ended, and how long its request waits for the next one.
func (a *attempt[R]) log(ctx context.Context, do action, err error, p *run.PanicError, took, wait time.Duration) {
	switch {
	case p != nil:
		a.Logger().Error("reconcile panicked", "err", err, "took", took, "retry_in", wait, "stack", string(p.Stack))
	case do.outcome == Terminal:
		a.Logger().Error("reconcile failed, not tried again until something changes", "err", err, "took", took)
	case do.outcome == Failed:
		level, later := slog.LevelWarn, slog.LevelError
		if c, ok := errors.AsType[*client.ConflictError](err); ok && len(c.Fields) == 0 {
			level, later = slog.LevelDebug, slog.LevelWarn // the reconcile read an old version; the next one reads a newer one
		}
		if a.number >= persistent {
			level = later
		}
		a.Logger().Log(ctx, level, "reconcile failed, will be tried again", "err", err, "took", took, "retry_in", wait)
	case took >= slowAfter:
		a.Logger().Info("reconcile that took long has ended", "outcome", do.outcome.String(), "took", took)
	case a.debugs(ctx):
		a.Logger().Debug("reconciled", "outcome", do.outcome.String(), "took", took)
	}
}
