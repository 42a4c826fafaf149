package controller

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/flyball-io/flyball/internal/ctxkey"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/workqueue"
)

// errStopping is the cause of a stop in good order.
var errStopping = errors.New("controller stops")

// running is one run of a controller.
type running[R comparable] struct {
	*Controller[R]
	queue    *workqueue.Queue[R, reconcile.Cause]
	feeds    []*feed[R]
	attempts attempts[R]
	failed   atomic.Pointer[failure[R]]     // the latest; see record
	own      *reporter                      // of problems that belong to no source
	begins   func(request any) (end func()) // of each reconcile; nil outside of a simulation
}

func newRunning[R comparable](c *Controller[R]) (*running[R], error) {
	o := workqueue.Options[R, reconcile.Cause]{
		Merge:   reconcile.Cause.Merge,
		MaxWait: c.o.MaxWait,
		Waited:  c.o.Hooks.Waited,
		Worked:  c.o.Hooks.Worked,
	}
	if c.o.RateLimiter != nil {
		o.RateLimiter = limiter[R]{c.o.RateLimiter()}
	}
	queue, err := workqueue.New(o)
	if err != nil {
		return nil, fmt.Errorf("controller %q: %w", c.name, err)
	}
	r := &running[R]{Controller: c, queue: queue, attempts: newAttempts[R](c.o.Workers), own: newReporter(c.name, c.o, c.logger, "")}
	for i := range c.sources {
		f, err := newFeed(r, &c.sources[i])
		if err != nil {
			return nil, err
		}
		r.feeds = append(r.feeds, f)
	}
	return r, nil
}

// run works until ctx ends. The watches end after the workers: a running reconcile reads from a cache that is
// still updated.
func (r *running[R]) run(ctx context.Context) error {
	stop, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	intake, fed := run.New(context.WithoutCancel(ctx))
	for _, f := range r.feeds {
		if f.source.outside != nil {
			f.ctx = context.WithValue(stop, ctxkey.Queue{}, r.queue)
			close(f.opened)
			intake.Go(f.source.String(), func(context.Context) error { f.receive(f.ctx); return nil })
		}
		intake.Go(f.source.String(), func(fed context.Context) error { return f.run(stop, fed) })
	}
	unwatch := context.AfterFunc(fed, func() { cancel(errStopping) })
	s := &syncing[R]{running: r, reported: reports{}}
	err := s.start(stop)
	if err == nil && stop.Err() == nil {
		r.set(Working, nil)
		if missing := r.unsynced(false); missing != nil {
			r.logger.Warn("controller started without some of its sources", "workers", r.o.Workers, "err", missing)
		} else {
			r.logger.Info("controller started", "workers", r.o.Workers)
		}
		intake.Go("", func(context.Context) error { s.follow(stop); return nil })
		err = r.work(stop)
	}
	r.stopping()
	cancel(errStopping)
	unwatch()
	intake.Stop(errStopping)
	if fault := intake.Wait(); err == nil && fault != errStopping {
		err = fault
	}
	return err
}

// stopping ends the intake of requests.
func (r *running[R]) stopping() {
	r.setStopping()
	r.queue.ShutDown()
}

// work runs the workers until stop ends or one of them fails. It returns when the last one has ended.
func (r *running[R]) work(stop context.Context) error {
	reconciles, cancel := context.WithCancelCause(context.WithoutCancel(stop))
	defer cancel(nil)
	workers, failed := run.New(context.WithoutCancel(stop))
	r.begins = ctxkey.Reconciles(stop, r.name)
	for _, own := range r.attempts {
		workers.Go("", func(ctx context.Context) error { return r.worker(ctxkey.As(ctx, r.name), reconciles, own) })
	}
	idle := make(chan error, 1)
	go func() { idle <- workers.Wait() }()
	abort := aborted(stop)
	select {
	case <-stop.Done():
	case <-failed.Done():
	case <-abort.Done():
	}
	if abort.Err() != nil {
		cancel(context.Cause(abort))
	}
	r.stopping()
	workers.Stop(errStopping)
	grace := time.NewTimer(max(0, r.mgr.GracePeriod()))
	defer grace.Stop()
	var err, late error
	select {
	case err = <-idle:
	case <-abort.Done():
		if all := r.reconciles(); len(all.Running) > 0 {
			r.logger.Warn("cancelling reconciles", "running", all.String(), "cause", context.Cause(abort))
		}
		cancel(context.Cause(abort))
		err = <-idle
	case <-grace.C:
		if all := r.reconciles(); len(all.Running) > 0 {
			late = fmt.Errorf("controller %q: %w: cancelled %s", r.name, ErrGraceEnded, all)
			r.logger.Warn("grace period is over, cancelling reconciles", "running", all.String())
		}
		cancel(ErrGraceEnded)
		err = <-idle
	}
	if err != errStopping {
		return err
	}
	return late
}

// request queues a request without an object as its cause.
func (r *running[R]) request(req R) {
	r.enqueue(req, reconcile.Cause{Trigger: reconcile.Generic, Count: 1})
}

func (r *running[R]) enqueue(req R, c reconcile.Cause) {
	r.queue.AddWith(req, workqueue.AddOptions[reconcile.Cause]{Priority: r.priority(c), Value: c})
}

// priority calls Options.Priority. If that panics the default stands.
func (r *running[R]) priority(c reconcile.Cause) int {
	var p int
	if err := run.Safely("Options.Priority", func() error { p = r.o.Priority(c); return nil }); err != nil {
		r.own.problem(partPriority, err)
		return defaultPriority(c)
	}
	return p
}
