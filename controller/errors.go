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
	// ErrGraceEnded is the cause of the ctx of a reconcile that was cancelled at the end of the grace
	// period. Run returns it then.
	ErrGraceEnded = errors.New("grace period is over")
	// ErrReconcileTimeout is the cause of the ctx of a reconcile that took longer than
	// Options.ReconcileTimeout.
	ErrReconcileTimeout = errors.New("reconcile timed out")

	// The causes of an *option.Error.
	errNoName       = errors.New("controller has no name")
	errNoReconciler = errors.New("reconciler is nil")
	errNilHandler   = errors.New("handler is nil")
	errNoSource     = errors.New("controller has no source")
	errTwoFor       = errors.New("For is given twice")
	errFrom         = errors.New("From is for watches: this source belongs to no cluster")
	errNoFor        = errors.New("For is missing: requests that are object keys need it, or WithoutFor")
)

// TypeMismatchError says that the Go type of a watch is not the one that its handler maps.
type TypeMismatchError struct {
	Watched, Handled object.Object
}

func (e *TypeMismatchError) Error() string {
	return fmt.Sprintf("watches %T, but the handler maps %T", e.Watched, e.Handled)
}

// OverdueError says that a predicate or a handler has not returned for a second or longer. The call goes on,
// and the later events of its source wait.
type OverdueError struct {
	// Part is "predicate" or "handler". Key is the object of the event.
	Part string
	Key  object.Key
	// For is how long the call had run when the error was made.
	For time.Duration
}

func (e *OverdueError) Error() string {
	return fmt.Sprintf("%s: %s has not returned for %v", e.Key, e.Part, e.For.Round(time.Millisecond))
}

// FailingError says that sources of a working controller have failed for five minutes without a break. That
// is a handler that fails on several objects, or has never succeeded; a predicate or handler that has not
// returned; or a function of [Requests] that keeps failing. No event is lost: failed calls are repeated
// until they succeed.
type FailingError struct {
	Controller string
	// Sources are the failing ones, in the order of the controller's sources.
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

// SyncError names sources that have not synced, or not in all namespaces. Workers wait for them, or work without them;
// see Options.CacheSyncTimeout.
type SyncError struct {
	Controller string
	// Sources are the sources that have not synced, in the order of the controller. Their Waiting has the namespaces,
	// and Err is the known cause, or nil; no other field is set.
	Sources []SourceFailure
}

func (e *SyncError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "controller %q: not synced", e.Controller)
	for i, s := range e.Sources {
		b.WriteString([]string{": ", "; "}[min(i, 1)])
		b.WriteString(s.Source)
		if in := s.in(); in != "" {
			b.WriteString(" in " + in)
		}
		if s.Err != nil {
			b.WriteString(": ")
			b.WriteString(s.Err.Error())
		}
	}
	return b.String()
}

// Unwrap returns the known causes.
func (e *SyncError) Unwrap() []error {
	var errs []error
	for _, s := range e.Sources {
		if s.Err != nil {
			errs = append(errs, s.Err)
		}
	}
	return slices.Clip(errs)
}
