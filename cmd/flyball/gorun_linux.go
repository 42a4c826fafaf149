package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// endWithGoRun returns a context that ends with the parent process, if that is the go command. "go
// run" does not forward SIGTERM to the program that it runs, so the program would survive it.
func endWithGoRun(ctx context.Context) (context.Context, context.CancelFunc) {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", os.Getppid()))
	if err != nil || strings.TrimSpace(string(name)) != "go" {
		return ctx, func() {}
	}
	// SIGTERM would not do: the signal may arrive once for each thread of the dying parent, and a
	// second SIGTERM ends this process at once.
	const parentEnded = syscall.SIGUSR1
	ctx, stop := signal.NotifyContext(ctx, parentEnded)
	// If this fails, the program behaves as on other systems.
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(parentEnded), 0)
	return ctx, stop
}
