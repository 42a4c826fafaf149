package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// endWithGoRun returns a context that ends with our parent, if that is the go
// command: "go run" forwards no SIGTERM to the program it runs, so that
// whoever ends it would leave us behind.
func endWithGoRun(ctx context.Context) (context.Context, context.CancelFunc) {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", os.Getppid()))
	if err != nil || strings.TrimSpace(string(name)) != "go" {
		return ctx, func() {}
	}
	// Not SIGTERM: the signal may come once for each thread of the dying
	// parent, and a second SIGTERM is to end us at once.
	const parentEnded = syscall.SIGUSR1
	ctx, stop := signal.NotifyContext(ctx, parentEnded)
	// No harm if it fails: all is then as on other systems.
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(parentEnded), 0)
	return ctx, stop
}
