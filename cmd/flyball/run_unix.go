//go:build unix

package main

import (
	"os/exec"
	"syscall"
	"time"
)

// apart shields a command from the terminal's Ctrl-C, so that it gets only the signal of this
// process.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
}

// end ends a process that is not a child of this one, and waits for its end. It kills the process
// after the timeout.
func end(pid int, within time.Duration) {
	deadline := time.Now().Add(within)
	for err := syscall.Kill(pid, syscall.SIGTERM); err == nil; err = syscall.Kill(pid, 0) {
		if time.Now().After(deadline) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			return
		}
		time.Sleep(20 * time.Millisecond) // there is no event for the end of another process's child
	}
}
