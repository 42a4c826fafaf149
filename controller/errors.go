package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flyball-io/flyball/object"
)

var (
	// ErrNoName says that a controller was given no name.
	ErrNoName = errors.New("controller has no name")
	// ErrNoReconciler says that the reconciler is nil.
	ErrNoReconciler = errors.New("reconciler is nil")
	// ErrNoFor says that a controller whose requests are objects does not say of which kind: it
	// needs [For], or [WithoutFor] where that is meant.
	ErrNoFor = errors.New("For is missing")
	// ErrTwoFor says that For was given twice.
	ErrTwoFor = errors.New("For is given twice")
	// ErrNoSource says that nothing would ever cause a reconcile.
	ErrNoSource = errors.New("controller has no source")
	// ErrGraceEnded is the cause for which a reconcile was cancelled: the controller was told to
	// stop, and the grace period is over. Run returns it then.
	ErrGraceEnded = errors.New("grace period is over")
	// ErrReconcileTimeout is the cause for which a reconcile was cancelled that took longer than
	// Options.ReconcileTimeout.
	ErrReconcileTimeout = errors.New("reconcile timed out")

	errNilHandler = errors.New("handler is nil")
)

// TypeMismatchError says that a handler maps objects of one Go type, and the watch is of another.
type TypeMismatchError struct {
	Watched, Handled object.Object
}

func (e *TypeMismatchError) Error() string {
	return fmt.Sprintf("watches %T, but the handler maps %T", e.Watched, e.Handled)
}

// OverdueError says that a predicate or a handler has not returned for a second or longer. The
// events of its source wait behind it. It is no failure: the call goes on.
type OverdueError struct {
	// Part is "predicate" or "handler"; Key is the object that the call is about.
	Part string
	Key  object.Key
	// For is how long it had run when it was looked at.
	For time.Duration
}

func (e *OverdueError) Error() string {
	return fmt.Sprintf("%s: %s has not returned for %v", e.Key, e.Part, e.For.Round(time.Millisecond))
}

// FailingError says that sources of a controller that works have failed for five minutes without a
// break: a handler that fails on several objects, or has never succeeded; a predicate or handler that
// has not returned; or a function of [Requests] that keeps failing. Nothing is lost: what failed is called
// again for as long as it fails.
type FailingError struct {
	Controller string
	// Sources are those that fail, in the order in which they were given.
	Sources []SourceFailure
}

func (e *FailingError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "controller %q: fails", e.Controller)
	for i, s := range e.Sources {
		fmt.Fprintf(&b, "%s%s since %s", []string{": ", "; "}[min(i, 1)], s.Source, s.Since.UTC().Format(time.RFC3339))
		if s.Objects > 0 {
			fmt.Fprintf(&b, ", on %d objects", s.Objects)
		}
		fmt.Fprintf(&b, ": %v", s.Err)
	}
	return b.String()
}

// Unwrap returns the causes.
func (e *FailingError) Unwrap() []error {
	errs := make([]error, len(e.Sources))
	for i, s := range e.Sources {
		errs[i] = s.Err
	}
	return errs
}

// SyncError says that workers cannot start, since sources have not synced.
type SyncError struct {
	Controller string
	// Sources are those that have not synced, in the order in which they were given.
	Sources []Unsynced
}

// Unsynced is a source that has not synced. Err is why, if that is known.
type Unsynced struct {
	Source string
	Err    error
}

func (e *SyncError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "controller %q: not synced", e.Controller)
	for i, s := range e.Sources {
		b.WriteString([]string{": ", "; "}[min(i, 1)])
		b.WriteString(s.Source)
		if s.Err != nil {
			b.WriteString(": ")
			b.WriteString(s.Err.Error())
		}
	}
	return b.String()
}

// Unwrap returns what is known of the causes.
func (e *SyncError) Unwrap() []error {
	var errs []error
	for _, s := range e.Sources {
		if s.Err != nil {
			errs = append(errs, s.Err)
		}
	}
	return slices.Clip(errs)
}
