package controller

import (
	"cmp"
	"context"
	"time"

	"github.com/flyball-io/flyball/internal/overdue"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/workqueue"
)

// worker reconciles one request after another until stop ends. work is the ctx of the reconciles; own shows the one
// that runs.
func (r *running[R]) worker(stop, work context.Context, own *overdue.Watch[*attempt[R]]) error {
	defer own.Stop()
	for item, ok := r.queue.Get(stop); ok; item, ok = r.queue.Next(stop, item.Key) {
		if stop.Err() != nil {
			r.queue.Done(item.Key)
			return nil
		}
		end := func() {}
		if r.begins != nil {
			end = r.begins(item.Key)
		}
		err := r.reconcile(work, item, own)
		end()
		if err != nil {
			r.queue.Done(item.Key)
			return err
		}
	}
	return nil
}

// reconcile runs one reconcile and then the action of next. It returns an error only for a panic under
// Options.StopOnPanic.
func (r *running[R]) reconcile(work context.Context, item workqueue.Item[R, reconcile.Cause], own *overdue.Watch[*attempt[R]]) error {
	a := &attempt[R]{running: r, item: item, number: r.queue.NumRequeues(item.Key) + 1, began: time.Now()}
	if r.o.LogConstructor != nil {
		a.Logger()
	}
	ctx := context.Context(attemptContext[R]{work, a})
	if r.o.ReconcileTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.o.ReconcileTimeout, ErrReconcileTimeout)
		defer cancel()
	}

	own.Begin(a)
	var result reconcile.Result
	err := run.Safely("reconcile", func() (err error) {
		result, err = r.reconciler(ctx, item.Key)
		return err
	})
	own.End()
	took := time.Since(a.began)
	panicked, isPanic := err.(*run.PanicError)

	do := next(result, err)
	stops := isPanic && r.o.StopOnPanic
	if do.forget {
		r.queue.Forget(item.Key)
	}
	var wait time.Duration
	if do.requeue && !stops {
		cause := item.Value
		cause.Trigger, cause.Count = do.trigger, 1
		wait = r.queue.AddWith(item.Key, workqueue.AddOptions[reconcile.Cause]{
			Priority: *cmp.Or(result.Priority, &item.Priority), After: do.after, RateLimited: do.limited, Value: cause,
		})
	}
	a.log(ctx, do, err, panicked, took, wait)
	what := Reconciled{ // for the hook, and the state
		Controller: r.name, Request: item.Key, Outcome: do.outcome, Cause: item.Value,
		Attempt: a.number, Took: took, Panicked: isPanic, TimedOut: context.Cause(ctx) == ErrReconcileTimeout, Err: err,
	}
	if err != nil || r.failed.Load() != nil {
		r.record(item.Key, what)
	}
	if hook := r.o.Hooks.Reconciled; hook != nil {
		r.observe(hook, what)
	}
	if stops {
		return err
	}
	return nil
}

// observe calls the hook. A panic of it is reported.
func (r *running[R]) observe(hook func(Reconciled), what Reconciled) {
	if err := run.Safely("Hooks.Reconciled", func() error { hook(what); return nil }); err != nil {
		r.own.problem(partHook, err)
	}
}
