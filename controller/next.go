package controller

import (
	"time"

	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/run"
)

// Outcome is how one reconcile ended, and so what becomes of its request.
type Outcome uint8

const (
	// Success: nothing more to do until something changes.
	Success Outcome = iota + 1
	// RequeueAfter: another look after the time that the reconciler asked for.
	RequeueAfter
	// Requeue: another look soon, spaced by the rate limiter.
	Requeue
	// Failed: an error or a panic; another attempt after the backoff.
	Failed
	// Terminal: an error that repeating will not mend; no other attempt until something changes.
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

// action is what is done with a request after its reconcile, in this order: forget, add.
type action struct {
	outcome Outcome
	// forget starts the backoff of the request afresh.
	forget bool
	// again queues the request once more, with the priority it had: after the time given, or, if
	// limited, after what the rate limiter says.
	again   bool
	after   time.Duration
	limited bool
	trigger reconcile.Trigger
}

// next is the whole retry policy. A panic comes in as an error; it is never terminal, whatever was
// given to panic.
func next(result reconcile.Result, err error) action {
	_, panicked := err.(*run.PanicError)
	switch {
	case err != nil && !panicked && reconcile.IsTerminal(err):
		return action{outcome: Terminal, forget: true}
	case err != nil:
		return action{outcome: Failed, again: true, limited: true, trigger: reconcile.Retried}
	case result.RequeueAfter > 0:
		return action{outcome: RequeueAfter, forget: true, again: true, after: result.RequeueAfter, trigger: reconcile.Requeued}
	case result.Requeue:
		return action{outcome: Requeue, again: true, limited: true, trigger: reconcile.Requeued}
	}
	return action{outcome: Success, forget: true}
}
