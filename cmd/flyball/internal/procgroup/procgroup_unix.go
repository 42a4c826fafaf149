//go:build unix

package procgroup

import (
	"os/exec"
	"syscall"
)

// Lead makes a command the first of a process group, which its end ends: tests run as children of the go
// command. Call it before the command starts.
func Lead(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
