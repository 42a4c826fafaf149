package plane

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

// advised adds to an error of a build what to do about it, if the cause is known. output is what the go command
// said.
func (p program) advised(err error, output string) error {
	if err == nil {
		return nil
	}
	text := err.Error() + output
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(text, part) {
				return true
			}
		}
		return false
	}
	advice := ""
	switch {
	case errors.Is(err, exec.ErrNotFound):
		advice = "it is built by the go command, which is not here: install Go"
	case has("no space left on device"), errors.Is(err, syscall.ENOSPC):
		advice = "the disk is full: a first build needs 4 GB in the folder that \"go env GOCACHE\" names, and 1 GB in TMPDIR; make room, or let GOCACHE and TMPDIR name another disk"
	case has("module lookup disabled", "dial tcp", "no such host", "connection refused", "i/o timeout", "TLS handshake timeout", "proxyconnect", "network is unreachable", "cannot find module providing", "unrecognized import path"):
		advice = "its modules are not here, and the network does not give them: connect once, or set GOPROXY to a proxy that can be reached"
	case errors.Is(err, syscall.ENOENT), has("read-only file system", "permission denied", "operation not permitted", "not a directory"):
		advice = "a folder cannot be written: let XDG_CACHE_HOME (for programs), TMPDIR (for the time of a build), GOCACHE and GOMODCACHE (for the go command) name folders that can be"
	default:
		return fmt.Errorf("%w%s", err, output)
	}
	return fmt.Errorf("%w%s\n%s; or let %s name a program that was built elsewhere", err, output, advice, p.env())
}

// env is the variable that names a program to use instead of a build.
func (p program) env() string {
	if p == rulesProgram {
		return RulesEnv
	}
	return BinaryEnv
}
