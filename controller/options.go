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
	// LowPriority is what requests are queued with by default for the sake of objects that did not
	// change: those of the first list, and those of a resync.
	LowPriority = -100
)

// Options say how a controller runs. The zero value works. They are read by [New], once.
type Options struct {
	// Workers is how many reconciles run at once, of different requests (elsewhere called
	// MaxConcurrentReconciles). Zero: 1. Negative is an error.
	Workers int
	// EveryReplica has the controller run on every replica of a program that elects a leader, and
	// not on the leader alone. Its reconciler must bear that the others do the same; what it writes
	// goes through flyball.Manager.Unfenced. Without an election it changes nothing.
	EveryReplica bool
	// RateLimiter makes the policy of delays after errors; it is called for each run of the
	// controller. Nil: workqueue.DefaultLimiter[any], 5 ms doubling to 1000 s for each request,
	// and 10 a second with a burst of 100 for all together.
	RateLimiter func() workqueue.RateLimiter[any]
	// Priority is asked for each request that is queued for the sake of an event; higher goes
	// first. Retries and requeues keep the priority that they had. It must be quick. Nil, and
	// where it panics: LowPriority for Listed and Resynced, 0 for all else.
	Priority func(reconcile.Cause) int
	// Resync is the period in which each object of For is reconciled again though it did not change,
	// with reconcile.Resynced as the cause; without a For, what the sources say of each of their
	// objects. They are spread over the period, and are not asked of predicates. Nothing is decoded
	// for For. A change that waits stays what it is. Zero: as the manager says, for which that is
	// Options.Cache.Resync. Negative: never.
	Resync time.Duration
	// MaxWait is how long a request may be ready before it is taken ahead of higher priorities.
	// Zero: one minute. Negative: it may wait for ever.
	MaxWait time.Duration
	// ReconcileTimeout is how long one reconcile may take before its ctx ends, with
	// ErrReconcileTimeout as the cause. Zero or negative: as long as it likes.
	ReconcileTimeout time.Duration
	// CacheSyncTimeout is how long the sources may take to sync before that is reported as an
	// error that names each kind and what keeps it. Zero: 2 minutes. Negative: for ever. What is
	// known to keep a source, such as a missing permission, is reported within seconds whatever
	// this says.
	CacheSyncTimeout time.Duration
	// RequireSync has Run fail with a *SyncError after CacheSyncTimeout. Otherwise the controller
	// goes on waiting, others run, and it starts by itself when the cause is gone.
	RequireSync bool
	// StopOnPanic has a panic of the reconciler end Run with a *run.PanicError, which stops the
	// manager. Otherwise it is recovered from, reported, and counts as an error.
	StopOnPanic bool
	// Logger is the base of all that the controller logs. Nil: the manager's.
	Logger *slog.Logger
	// LogConstructor makes the logger of one reconcile from the base, which names the controller
	// already. Nil, and where it panics or returns nil: the request is added as "object" and the
	// number of the attempt as "attempt". One is made for each reconcile; if this is nil, only where
	// something is logged or reconcile.Logger is called.
	LogConstructor func(base *slog.Logger, request any, attempt int) *slog.Logger
	// Hooks are called as things happen.
	Hooks Hooks
}

// Hooks let others count what a controller does. Nil ones are skipped. They are called from
// several goroutines and must not block. Reconciled and Problem may panic: that is a problem of
// its own, and stops nothing.
type Hooks struct {
	// Reconciled is called after each reconcile.
	Reconciled func(Reconciled)
	// Problem is called when a predicate, a handler or a source fails or panics, or an option or
	// hook panics; and with an *OverdueError when a predicate or a handler takes a second.
	Problem func(Problem)
	// Queue is told how long requests wait and are worked on.
	Queue workqueue.Observer
}

// Reconciled is one reconcile that has ended.
type Reconciled struct {
	Controller string
	// Request is what was reconciled.
	Request any
	Outcome Outcome
	Cause   reconcile.Cause
	// Attempt is 1 for the first try, and one more for each failure since the last success.
	Attempt  int
	Took     time.Duration
	Panicked bool
	// TimedOut says that Options.ReconcileTimeout was over before it returned.
	TimedOut bool
	// Err is what the reconciler returned, or its panic.
	Err error
}

// Problem is something beside a reconcile that went wrong.
type Problem struct {
	Controller string
	// Source is where, as in "Watches(Pod)"; Part is "predicate", "handler" or "source". Without a
	// Source, Part is "priority", "logger" or "hook".
	Source, Part string
	// Panicked tells panics from errors.
	Panicked bool
	Err      error
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
		if _, err := workqueue.NewCore(workqueue.Options[any, struct{}]{RateLimiter: limiter}); err != nil {
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

// limiter gives a queue of requests of type R a rate limiter over any comparable value.
type limiter[R comparable] struct{ of workqueue.RateLimiter[any] }

func (l limiter[R]) When(key R, now time.Time) time.Duration { return l.of.When(key, now) }
func (l limiter[R]) Forget(key R)                            { l.of.Forget(key) }
func (l limiter[R]) NumRequeues(key R) int                   { return l.of.NumRequeues(key) }
