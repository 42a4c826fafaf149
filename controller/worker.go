package controller

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/workqueue"
)

// persistent is the attempt from which a failure is no longer a passing one: it is then logged
// as an error; a conflict, which is no failure before, as a warning.
const persistent = 5

// worker reconciles one request after another until stop ends. The reconciles run under work.
func (r *running[R]) worker(stop, work context.Context) error {
	for {
		item, ok := r.queue.Get(stop)
		if !ok {
			return nil
		}
		if stop.Err() != nil {
			r.queue.Done(item.Key)
			return nil
		}
		err := r.reconcile(work, item)
		r.queue.Done(item.Key)
		if err != nil {
			return err
		}
	}
}

// reconcile runs one reconcile and does what next says. It fails only with a panic that is not to
// be recovered from.
func (r *running[R]) reconcile(work context.Context, item workqueue.Item[R, reconcile.Cause]) error {
	attempt := r.queue.NumRequeues(item.Key) + 1
	logger := r.loggerOf(item.Key, attempt)
	ctx := reconcile.WithLogger(reconcile.WithCause(work, item.Value), logger)
	if r.o.ReconcileTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.o.ReconcileTimeout, ErrReconcileTimeout)
		defer cancel()
	}

	began := time.Now()
	var result reconcile.Result
	err := run.Safely("reconcile", func() (err error) {
		result, err = r.reconciler.Reconcile(ctx, item.Key)
		return err
	})
	took := time.Since(began)
	panicked, isPanic := err.(*run.PanicError)

	do := next(result, err)
	r.log(ctx, logger, do, err, panicked, attempt, took)
	r.told(Reconciled{
		Controller: r.name, Request: item.Key, Outcome: do.outcome, Cause: item.Value,
		Attempt: attempt, Took: took, Panicked: isPanic, TimedOut: context.Cause(ctx) == ErrReconcileTimeout, Err: err,
	})
	if isPanic && r.o.StopOnPanic {
		return err
	}
	if do.forget {
		r.queue.Forget(item.Key)
	}
	if do.again {
		cause := item.Value
		cause.Trigger, cause.Count = do.trigger, 1
		r.queue.AddWith(item.Key, workqueue.AddOptions[reconcile.Cause]{
			Priority: item.Priority, After: do.after, RateLimited: do.limited, Value: cause,
		})
	}
	return nil
}

var errNoLogger = errors.New("Options.LogConstructor returned nil")

// loggerOf is the logger of one reconcile: the default one if the option panics or makes none.
func (r *running[R]) loggerOf(req R, attempt int) *slog.Logger {
	var l *slog.Logger
	err := run.Safely("Options.LogConstructor", func() error {
		if l = r.o.LogConstructor(r.logger, req, attempt); l == nil {
			return errNoLogger
		}
		return nil
	})
	if err != nil {
		r.own.problem(partLogger, err)
		return defaultLog(r.logger, req, attempt)
	}
	return l
}

// told calls the hook.
func (r *running[R]) told(what Reconciled) {
	f := r.o.Hooks.Reconciled
	if f == nil {
		return
	}
	if err := run.Safely("Hooks.Reconciled", func() error { f(what); return nil }); err != nil {
		r.own.problem(partHook, err)
	}
}

func (r *running[R]) log(ctx context.Context, l *slog.Logger, do action, err error, p *run.PanicError, attempt int, took time.Duration) {
	switch {
	case p != nil:
		l.Error("reconcile panicked", "err", err, "took", took, "stack", string(p.Stack))
	case do.outcome == Terminal:
		l.Error("reconcile failed, not tried again until something changes", "err", err, "took", took)
	case do.outcome == Failed:
		level, later := slog.LevelWarn, slog.LevelError
		if c, ok := errors.AsType[*client.Conflict](err); ok && len(c.Fields) == 0 {
			level, later = slog.LevelDebug, slog.LevelWarn // decided on an old view, it is decided again
		}
		if attempt >= persistent {
			level = later
		}
		l.Log(ctx, level, "reconcile failed, will be tried again", "err", err, "took", took)
	default:
		l.Debug("reconciled", "outcome", do.outcome.String(), "took", took)
	}
}
