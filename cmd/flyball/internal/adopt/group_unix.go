//go:build unix

package adopt

import (
	"os/exec"
	"syscall"
)

// group makes a command the first of a process group, which its end ends: tests run as children of the go
// command.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
