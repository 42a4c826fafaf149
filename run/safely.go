package run

import (
	"fmt"
	"runtime/debug"
)

// PanicError is a recovered panic. Error returns one line; the stack is for a log.
type PanicError struct {
	// Name is the name given to Group.Go or Safely.
	Name string
	// Value is the value of the panic; a *runtime.PanicNilError for panic(nil).
	Value any
	// Stack is the stack of the goroutine that panicked, as debug.Stack prints it.
	Stack []byte
}

func (e *PanicError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("panic: %v", e.Value)
	}
	return fmt.Sprintf("%s: panic: %v", e.Name, e.Value)
}

// Unwrap returns the value of the panic if it is an error, so that errors.Is sees it.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Safely calls fn and returns its error unchanged, or a *PanicError if fn panics. Fatal errors of
// the runtime (a concurrent map write, an exhausted stack) still end the process. A runtime.Goexit
// still ends the goroutine.
func Safely(name string, fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Name: name, Value: v, Stack: debug.Stack()}
		}
	}()
	return fn()
}
