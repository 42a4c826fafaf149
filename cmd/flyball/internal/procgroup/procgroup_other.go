//go:build !unix

package procgroup

import "os/exec"

// Lead does nothing: on this system only the command itself can be ended.
func Lead(*exec.Cmd) {}
