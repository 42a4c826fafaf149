// Package gomod downloads published modules by the go command, for the command-line tool and for tests.
package gomod

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Module is a module in the module cache.
type Module struct {
	Version string
	Dir     string
	GoMod   string // the file
}

// Download downloads a module in a version, or for a query such as "latest". It ignores the module and the workspace of
// the working directory.
func Download(ctx context.Context, path, version string) (Module, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", path+"@"+version)
	cmd.Dir = os.TempDir()
	cmd.Env = append(os.Environ(), "GOWORK=off", "PWD="+cmd.Dir)
	out, err := cmd.Output()
	var found struct {
		Module
		Error string
	}
	if bad := json.Unmarshal(out, &found); bad != nil && err == nil {
		err = bad
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && found.Error == "" {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	if found.Error != "" {
		err = errors.New(found.Error)
	}
	if err != nil {
		return Module{}, fmt.Errorf("version %s of %s: %w", version, path, err)
	}
	return found.Module, nil
}
