//go:build unix

package main

import (
	"os/exec"
	"syscall"
	"time"
)

// apart keeps the terminal's Ctrl-C from a command: it gets one signal, from us.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
}

// end has a process end that is no child of this one, and waits until it has; after a while it kills it.
func end(pid int, within time.Duration) {
	deadline := time.Now().Add(within)
	for err := syscall.Kill(pid, syscall.SIGTERM); err == nil; err = syscall.Kill(pid, 0) {
		if time.Now().After(deadline) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			return
		}
		time.Sleep(20 * time.Millisecond) // nobody tells of the end of another's child
	}
}
