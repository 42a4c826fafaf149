package finalizer

import (
	"fmt"
	"time"
)

// InvalidError says what Run was called with that it cannot work with. Nothing was sent.
type InvalidError struct {
	// Field is "obj", "name" or "steps[i]".
	Field   string
	Problem string
}

func (e *InvalidError) Error() string { return fmt.Sprintf("finalizer: %s %s", e.Field, e.Problem) }

// StepError says which step of a clean-up failed, or waits. The finalizer is still there.
type StepError struct {
	// Finalizer and Object are what is cleaned up: the object by its type and key.
	Finalizer, Object string
	Step              string
	Err               error
}

func (e *StepError) Error() string {
	return fmt.Sprintf("finalizer %s of %s: step %q: %v", e.Finalizer, e.Object, e.Step, e.Err)
}

// Unwrap returns what the step said.
func (e *StepError) Unwrap() error { return e.Err }

// WaitError is a clean-up that is not done yet; see [Wait] and [Result].
type WaitError struct {
	After time.Duration
	Why   string
}

func (e *WaitError) Error() string { return fmt.Sprintf("waits %v: %s", e.After, e.Why) }

// ChangedError says that the object on the server is not the one that was read: another of its
// name, one that is being deleted by now, or one with other finalizers. The finalizer was neither
// added nor removed. The reconcile that returns the error is called again, on a newer view.
type ChangedError struct {
	Finalizer, Object string
	Err               error
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("finalizer %s of %s: the object changed after it was read: %v", e.Finalizer, e.Object, e.Err)
}

// Unwrap returns the answer of the server.
func (e *ChangedError) Unwrap() error { return e.Err }
