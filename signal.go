package flyball

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// SignalError is the cause of a context of [SignalContext].
type SignalError struct{ Signal os.Signal }

func (e *SignalError) Error() string { return fmt.Sprintf("signal: %v", e.Signal) }

// SignalContext returns a context that ends with the first SIGINT or SIGTERM. Its cause is a *SignalError:
// [Manager.Run] then takes no new work, and lets running reconciles finish within the grace period. A second
// signal ends the process at once, with the exit code of that signal in shells: 130 or 143.
//
// The main function calls it once. From then on the process handles these two signals in this way.
func SignalContext() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		cancel(&SignalError{<-signals})
		second := <-signals
		code := 1
		if s, ok := second.(syscall.Signal); ok {
			code = 128 + int(s)
		}
		os.Exit(code)
	}()
	return ctx
}
