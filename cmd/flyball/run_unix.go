//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// apart shields a command from the terminal's Ctrl-C, so that it gets only the signal of this
// process.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
}
