//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// apart keeps the terminal's Ctrl-C from a command: it gets one signal, from us.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
}
