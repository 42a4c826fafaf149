package finalizer

import (
	"errors"
	"fmt"
	"time"

	"github.com/flyball-io/flyball/option"
)

// invalid returns the error for an invalid argument of Run: "obj", "name" or "steps[i]".
func invalid(field, problem string) error {
	return &option.Error{Of: "finalizer", Field: field, Err: errors.New(problem)}
}

// StepError says which step of a clean-up failed or waits. The finalizer is still on the object.
type StepError struct {
	// Finalizer and Object name the clean-up: the object by its type and key.
	Finalizer, Object string
	Step              string
	Err               error
}

func (e *StepError) Error() string {
	return fmt.Sprintf("finalizer %s of %s: step %q: %v", e.Finalizer, e.Object, e.Step, e.Err)
}

// Unwrap returns the error of the step.
func (e *StepError) Unwrap() error { return e.Err }

// WaitError says that a clean-up is not finished; see [Wait] and [Result].
type WaitError struct {
	After time.Duration
	Why   string
}

func (e *WaitError) Error() string { return fmt.Sprintf("waits %v: %s", e.After, e.Why) }

// ChangedError says that the object on the server differs from the one that was read. It may be
// another object of that name, be under deletion now, or have other finalizers. Run neither added
// nor removed the finalizer. Return the error from the reconcile, which is then called again with a
// newer object.
type ChangedError struct {
	Finalizer, Object string
	Err               error
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("finalizer %s of %s: the object changed after it was read: %v", e.Finalizer, e.Object, e.Err)
}

// Unwrap returns the error of the server.
func (e *ChangedError) Unwrap() error { return e.Err }
