// Package reconcile has the types of a reconciler: its request, its result, and why it was called.
//
//	func label(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
//		pod, err := client.Get[corev1.Pod](ctx, c, req)
//		…
//		return reconcile.Result{}, err // an error brings the request back, with a growing delay
//	}
//
// Such a function is a [Reconciler]; controller.New takes it as it is. [Logger] is the log of the running
// reconcile, [CauseFrom] tells why it runs. [Terminal] marks errors that a retry cannot mend.
package reconcile

import (
	"context"
	"errors"
	"time"

	"github.com/flyball-io/flyball/object"
)

// Request is the default request: the namespace and the name of an object. It does not say what happened: the
// reconciler reads the present state.
type Request = object.Key

// Result says when the same request is reconciled again without a change. The zero Result: never.
type Result struct {
	// RequeueAfter asks for another reconcile after this time, and resets the backoff of the request. Zero
	// or negative: no.
	RequeueAfter time.Duration
	// Requeue asks for another reconcile after the delay of the controller's rate limiter. It is ignored
	// when RequeueAfter is set.
	Requeue bool
	// Priority is that of a further reconcile, after an error too. Nil: that of the present one.
	Priority *int
}

// Reconciler brings the actual state of what a request names to its desired state.
//
// A controller calls it from as many workers as it has, but never from two of them at once for one
// request. The function must be idempotent: it is called again after every change, after an error
// and after a restart. ctx ends when the reconcile times out, or when the controller stops waiting
// for it to return; context.Cause says which.
//
// An error brings the request back with a growing delay; an error made by [Terminal] does not.
// Beside an error only the Priority of the Result counts.
//
// Pass a function as it is, and a type with a Reconcile method as r.Reconcile.
type Reconciler[R comparable] func(ctx context.Context, req R) (Result, error)

// Terminal marks an error that a retry cannot mend. The request comes back only when something changes. The
// error is counted and logged as others are. Terminal(nil) is nil.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return terminal{err}
}

// IsTerminal reports whether err, or an error it wraps, was made by [Terminal].
func IsTerminal(err error) bool {
	var t terminal
	return errors.As(err, &t)
}

type terminal struct{ err error }

func (t terminal) Error() string { return "terminal: " + t.err.Error() }
func (t terminal) Unwrap() error { return t.err }
