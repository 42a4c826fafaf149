package controller

import (
	"time"

	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/run"
)

// Outcome is how a reconcile ended. It decides what happens to its request.
type Outcome uint8

const (
	// Success: no further reconcile until something changes.
	Success Outcome = iota + 1
	// RequeueAfter: another reconcile after the time that the reconciler asked for.
	RequeueAfter
	// Requeue: another reconcile after the delay of the rate limiter.
	Requeue
	// Failed: an error or a panic; a retry after the same delay.
	Failed
	// Terminal: an error marked by reconcile.Terminal; no retry until something changes. Metrics say "error".
	Terminal
)

func (o Outcome) String() string {
	switch o {
	case Success:
		return "success"
	case RequeueAfter:
		return "requeue_after"
	case Requeue:
		return "requeue"
	case Failed:
		return "error"
	case Terminal:
		return "terminal_error"
	}
	return "unknown"
}

// action says what happens to a request after its reconcile, in this order: forget, requeue.
type action struct {
	outcome Outcome
	// forget resets the backoff of the request.
	forget bool
	// requeue queues the request again with its priority: after the time of after, or, if limited, after the
	// delay of the rate limiter.
	requeue bool
	after   time.Duration
	limited bool
	trigger reconcile.Trigger
}

// next is the whole retry policy. err may be a *run.PanicError, which is never terminal, whatever value the
// reconciler gave to panic.
func next(result reconcile.Result, err error) action {
	_, panicked := err.(*run.PanicError)
	switch {
	case err != nil && !panicked && reconcile.IsTerminal(err):
		return action{outcome: Terminal, forget: true}
	case err != nil:
		return action{outcome: Failed, requeue: true, limited: true, trigger: reconcile.Retried}
	case result.RequeueAfter > 0:
		return action{outcome: RequeueAfter, forget: true, requeue: true, after: result.RequeueAfter, trigger: reconcile.Requeued}
	case result.Requeue:
		return action{outcome: Requeue, requeue: true, limited: true, trigger: reconcile.Requeued}
	}
	return action{outcome: Success, forget: true}
}
