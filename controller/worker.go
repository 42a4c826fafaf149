package controller

import (
	"cmp"
	"context"
	"time"

	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/workqueue"
)

// worker reconciles one request after another until stop ends. work is the ctx of the reconciles.
func (r *running[R]) worker(stop, work context.Context) error {
	for item, ok := r.queue.Get(stop); ok; item, ok = r.queue.Next(stop, item.Key) {
		if stop.Err() != nil {
			r.queue.Done(item.Key)
			return nil
		}
		if err := r.reconcile(work, item); err != nil {
			r.queue.Done(item.Key)
			return err
		}
	}
	return nil
}

// reconcile runs one reconcile and then the action of next. It returns an error only for a panic under
// Options.StopOnPanic.
func (r *running[R]) reconcile(work context.Context, item workqueue.Item[R, reconcile.Cause]) error {
	a := &attempt[R]{running: r, item: item, number: r.queue.NumRequeues(item.Key) + 1}
	if r.o.LogConstructor != nil {
		a.Logger()
	}
	ctx := context.Context(attemptContext[R]{work, a})
	if r.o.ReconcileTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.o.ReconcileTimeout, ErrReconcileTimeout)
		defer cancel()
	}

	began := time.Now()
	var result reconcile.Result
	err := run.Safely("reconcile", func() (err error) {
		result, err = r.reconciler(ctx, item.Key)
		return err
	})
	took := time.Since(began)
	panicked, isPanic := err.(*run.PanicError)

	do := next(result, err)
	a.log(ctx, do, err, panicked, took)
	if hook := r.o.Hooks.Reconciled; hook != nil {
		r.observe(hook, Reconciled{
			Controller: r.name, Request: item.Key, Outcome: do.outcome, Cause: item.Value,
			Attempt: a.number, Took: took, Panicked: isPanic, TimedOut: context.Cause(ctx) == ErrReconcileTimeout, Err: err,
		})
	}
	if isPanic && r.o.StopOnPanic {
		return err
	}
	if do.forget {
		r.queue.Forget(item.Key)
	}
	if do.requeue {
		cause := item.Value
		cause.Trigger, cause.Count = do.trigger, 1
		r.queue.AddWith(item.Key, workqueue.AddOptions[reconcile.Cause]{
			Priority: *cmp.Or(result.Priority, &item.Priority), After: do.after, RateLimited: do.limited, Value: cause,
		})
	}
	return nil
}

// observe calls the hook. A panic of it is reported.
func (r *running[R]) observe(hook func(Reconciled), what Reconciled) {
	if err := run.Safely("Hooks.Reconciled", func() error { hook(what); return nil }); err != nil {
		r.own.problem(partHook, err)
	}
}
