package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flyball-io/flyball/lab/bench/contender"
)

// source is the import path of the programs: one for each library, in a folder with its name.
const source = "github.com/flyball-io/flyball/lab/bench/programs/"

// Programs are the contenders' programs. Each has one library, so that a process is as large as
// that of a user.
type Programs struct{ dir string }

// Build builds the programs of contenders, by their names in Setup, as for an image: without C. It runs the go
// command in the working directory, which must be inside the module. log receives progress; nil
// means no output. The caller must call Remove.
func Build(ctx context.Context, contenders []string, log func(format string, args ...any)) (*Programs, error) {
	var libraries, packages []string
	for _, full := range contenders {
		name, err := contender.Parse(full)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(libraries, name.Library) {
			libraries, packages = append(libraries, name.Library), append(packages, source+name.Library)
		}
	}
	command, err := exec.LookPath("go")
	if err != nil {
		return nil, fmt.Errorf("the contenders are programs of their own, built with the go command: put it into PATH (https://go.dev/doc/install): %w", err)
	}
	if log != nil {
		log("building %s", strings.Join(libraries, ", "))
	}
	if err := run(ctx, command, nil, append([]string{"list"}, packages...)); err != nil {
		return nil, fmt.Errorf("the contenders are programs of their own, whose source is not found from here; run this where it is, as go run -C lab does: %w", err)
	}
	dir, err := os.MkdirTemp("", "flyball-bench-")
	if err != nil {
		return nil, err
	}
	p := &Programs{dir}
	// Debug information is half of the time of a link. No process loads it.
	build := []string{"build", "-ldflags=-w", "-race=" + strconv.FormatBool(racing()), "-o", dir + string(filepath.Separator)}
	var env []string
	if !racing() { // which needs C
		env = []string{"CGO_ENABLED=0"} // as the images of Flyball's and of kubebuilder's projects are built
	}
	if err := run(ctx, command, env, append(build, packages...)); err != nil {
		return nil, errors.Join(fmt.Errorf("building the contenders: %w", err), p.Remove())
	}
	return p, nil
}

// Remove removes the programs. None of them may be running.
func (p *Programs) Remove() error { return os.RemoveAll(p.dir) }

// of returns the file of a contender's program.
func (p *Programs) of(n contender.Name) string { return filepath.Join(p.dir, n.Library) }

// racing reports whether this process runs with the race detector. Its contenders then do, too.
func racing() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// run runs the go command with further variables of its environment. The error has its output.
func run(ctx context.Context, command string, env, args []string) error {
	c := exec.CommandContext(ctx, command, args...)
	c.Env = append(os.Environ(), env...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // it ends the compilers, too
	c.WaitDelay = 10 * time.Second
	var complaints bytes.Buffer
	c.Stderr = &complaints
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("go %s: %w\n%s", args[0], err, bytes.TrimSpace(complaints.Bytes()))
	}
	return nil
}
