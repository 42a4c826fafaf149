//go:build !unix

package main

import (
	"os"
	"os/exec"
	"time"
)

// apart does nothing: on this system a command can only be killed.
func apart(*exec.Cmd) {}

// end kills a process: on this system it can only be killed.
func end(pid int, _ time.Duration) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}
