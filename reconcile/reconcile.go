// Package reconcile is all that a reconciler must import: what it is asked, what it answers, and
// the interface it implements.
package reconcile

import (
	"context"
	"errors"
	"time"

	"github.com/flyball-io/flyball/object"
)

// Request names what to reconcile when the controller's request type is the default one: the
// namespace and name of one object. It says nothing of what happened; the reconciler looks at
// the present state.
type Request = object.Key

// Result tells the controller when to look at the same request again, beyond the changes that
// bring it back anyway. The zero Result means: only when something changes.
type Result struct {
	// RequeueAfter asks for another look after this time. Zero or negative: none is asked for.
	// It starts the request's error backoff afresh.
	RequeueAfter time.Duration
	// Requeue asks for another look soon, spaced by the controller's rate limiter. It is ignored
	// when RequeueAfter is set.
	Requeue bool
}

// Reconciler brings the actual state of what a request names to its desired state.
//
// A controller calls it from as many workers as it has, but never from two of them at once for one
// request. The function must be idempotent: it is called again after every change, after an error
// and after a restart. ctx ends when the reconcile times out, or when the controller stops waiting
// for it to return; context.Cause says which.
//
// An error brings the request back with a growing delay; an error made by [Terminal] does not.
// The Result is ignored when the error is not nil.
//
// Pass a function as it is, and a type with a Reconcile method as r.Reconcile.
type Reconciler[R comparable] func(ctx context.Context, req R) (Result, error)

// Terminal marks an error that repeating will not mend: the request is not retried until
// something changes. The error is counted and logged like any other. Terminal(nil) is nil.
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
