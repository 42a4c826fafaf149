package controller

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/workqueue"
)

const (
	defaultSyncTimeout = 2 * time.Minute
	// LowPriority is the default priority of requests for objects that did not change: those of the
	// first list, and those of a resync.
	LowPriority = -100
)

// Options configure a controller. The zero value works. [NewWith] reads them once.
type Options struct {
	// Workers is how many reconciles run at once, of different requests; controller-runtime calls it
	// MaxConcurrentReconciles. Zero: 1. Negative is an error.
	Workers int
	// EveryReplica runs the controller on every replica of a program that elects a leader, and not on
	// the leader alone. The other replicas reconcile the same objects at the same time. The reconciler
	// writes by flyball.Manager.Unfenced. Without an election it changes nothing.
	EveryReplica bool
	// RateLimiter makes the policy of delays after errors. [NewWith] calls it, to check what it makes, and
	// so does each run. Nil: workqueue.DefaultLimiter[any], which is 5 ms doubling to 1000 s for each
	// request, and 10 a second with a burst of 100 for all together.
	RateLimiter func() workqueue.RateLimiter[any]
	// Priority returns the priority of a request that an event causes; higher goes first. Retries and
	// requeues keep it, unless the Result has another. It must be quick. Nil, and where it panics:
	// LowPriority for Listed and Resynced, 0 for all else.
	Priority func(reconcile.Cause) int
	// Resync is the period in which each object of For is reconciled again without a change, with
	// reconcile.Resynced as the cause. Without a For, the handlers of the sources are called for each
	// of their objects. Objects are spread over the period. Predicates are not asked, and nothing is
	// decoded for For. A waiting change keeps its own cause. Zero: the period of the manager, which is
	// its Options.Cache.Resync. Negative: never.
	Resync time.Duration
	// MaxWait is how long a request may be ready before it is taken ahead of higher priorities.
	// Zero: one minute. Negative: for ever.
	MaxWait time.Duration
	// ReconcileTimeout is how long a reconcile may take before its ctx ends, with ErrReconcileTimeout
	// as the cause. Zero or negative: no bound.
	ReconcileTimeout time.Duration
	// CacheSyncTimeout is how long the workers wait for sources that have not synced. After it an error is
	// logged that names each kind and its cause. Zero: 2 minutes. Negative: no bound.
	//
	// For a watch that fails for a known cause they wait ten seconds only, and start without it. Such causes
	// are a missing permission, a kind that is not served, or a cluster that does not answer. Each namespace
	// that is watched by itself has a watch of its own. The log, the state and readiness name what is missing,
	// and reads of it from the cache are errors, never empty. When it works at last, everything is reconciled
	// again: each object of For, or without a For what the handlers of the sources request.
	//
	// Workers wait without end for the first watch of For, or without a For for that of any source.
	CacheSyncTimeout time.Duration
	// RequireSync makes workers wait for every source, and Run fail with a *SyncError after
	// CacheSyncTimeout.
	RequireSync bool
	// StopOnPanic makes a panic of the reconciler end Run with a *run.PanicError, which stops the
	// manager. Otherwise the panic is recovered from, reported, and counts as an error.
	StopOnPanic bool
	// Logger is the base of the controller's log. Nil: the manager's.
	Logger *slog.Logger
	// LogConstructor makes the logger of each reconcile from the base, which names the controller
	// already. If it panics or returns nil, the default stands: the request is added as "object" and the
	// number of the attempt as "attempt". Nil: the default, made only when the reconcile logs a line or
	// calls reconcile.Logger.
	LogConstructor func(base *slog.Logger, request any, attempt int) *slog.Logger
	// Hooks observe the controller.
	Hooks Hooks
}

// Hooks are functions that observe a controller. Nil ones are skipped. They are called from several
// goroutines and must not block. A panic of Reconciled or Problem is reported as a problem, and stops
// nothing.
type Hooks struct {
	// Reconciled is called after each reconcile.
	Reconciled func(Reconciled)
	// Problem is called when a predicate, a handler or a source fails or panics, or an option or hook
	// panics. It is called with an *OverdueError when a predicate or a handler has taken a second.
	Problem func(Problem)
	// Waited is called with the time that a request has waited, Worked with the time that a worker had
	// it. They are called under the lock of the queue: they must be quick.
	Waited, Worked func(time.Duration)
}

// Reconciled is one reconcile that has ended.
type Reconciled struct {
	Controller string
	// Request has the request type of the controller.
	Request any
	Outcome Outcome
	Cause   reconcile.Cause
	// Attempt is 1, and one more for each Failed and Requeue since the last other outcome that the rate limiter
	// has counted: none during a backoff. A BucketLimiter alone counts nothing, so that Attempt is always 1.
	Attempt  int
	Took     time.Duration
	Panicked bool
	// TimedOut says that Options.ReconcileTimeout passed before the reconciler returned.
	TimedOut bool
	// Err is the error of the reconciler, or a *run.PanicError.
	Err error
}

// Problem is a failure beside a reconcile.
type Problem struct {
	Controller string
	// Source is as in "Watches(Pod)", and Part is "predicate", "handler" or "source". Without a Source,
	// Part is "priority", "logger" or "hook".
	Source, Part string
	Panicked     bool // else Err was returned
	Err          error
}

// badOption is the error for an option or source of the controller called name. Field is a field of
// Options, or the source as in "Watches(*v1.Pod)".
func badOption(name, field string, err error) error {
	return &option.Error{Of: fmt.Sprintf("controller %q", name), Field: field, Err: err}
}

// resolved checks the options and fills in the defaults.
func (o Options) resolved(name string) (Options, error) {
	bad := func(field string, err error) error {
		return badOption(name, field, err)
	}
	if o.Workers < 0 {
		return o, bad("Workers", errors.New("negative"))
	}
	if o.Workers == 0 {
		o.Workers = 1
	}
	if o.CacheSyncTimeout == 0 {
		o.CacheSyncTimeout = defaultSyncTimeout
	}
	if o.Priority == nil {
		o.Priority = defaultPriority
	}
	if o.RateLimiter != nil {
		limiter := o.RateLimiter()
		if limiter == nil {
			return o, bad("RateLimiter", errors.New("made nil"))
		}
		if _, err := workqueue.New(workqueue.Options[any, struct{}]{RateLimiter: limiter}); err != nil {
			return o, bad("RateLimiter", err)
		}
	}
	return o, nil
}

func defaultPriority(c reconcile.Cause) int {
	if c.Trigger == reconcile.Listed || c.Trigger == reconcile.Resynced {
		return LowPriority
	}
	return 0
}

// limiter adapts a rate limiter of any values to requests of type R.
type limiter[R comparable] struct{ of workqueue.RateLimiter[any] }

func (l limiter[R]) When(key R, now time.Time) time.Duration { return l.of.When(key, now) }
func (l limiter[R]) Forget(key R)                            { l.of.Forget(key) }
func (l limiter[R]) NumRequeues(key R) int                   { return l.of.NumRequeues(key) }
