package plane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// BinaryEnv is the environment variable with the control plane program to use instead of a build.
const BinaryEnv = "FLYBALL_CONTROLPLANE"

// RulesEnv is the environment variable with the rules program to use instead of a build.
const RulesEnv = "FLYBALL_RULES"

const (
	progressEvery = 15 * time.Second
	lockEvery     = 200 * time.Millisecond
	keptBinaries  = 3 // of the module's own version of Kubernetes; of each other version one
)

// Build builds the control plane program and returns its file name, in the user's cache directory.
// It builds once for each version of the source, of Kubernetes (see [KubernetesEnv]) and of Go; after
// that it takes about 50 ms. Builds of several processes wait for each other. Progress, if not nil, receives a line at the start,
// every 15 seconds with the number of compiled packages, and at the end.
func Build(ctx context.Context, progress io.Writer) (string, error) {
	return build(ctx, program{}, progress)
}

// BuildRules builds the rules program of the API server in memory as [Build] does the control plane. Its
// version of Kubernetes is always that of the module.
func BuildRules(ctx context.Context, progress io.Writer) (string, error) {
	return build(ctx, rulesProgram, progress)
}

// BuiltRules returns the file name of the rules program: that of [RulesEnv], or the one that [BuildRules] would return
// at once. It returns "" if there is none yet, and builds nothing.
func BuiltRules(ctx context.Context) (string, error) {
	if named := os.Getenv(RulesEnv); named != "" {
		return named, nil
	}
	t, err := rulesProgram.target(ctx)
	if err != nil || !usable(t.binary) {
		return "", err
	}
	return t.binary, nil
}

// target is a program that is built, or will be.
type target struct {
	source
	binary, flags string
	prefix        string // of the file names of all its versions
	kept          int    // how many of them
}

// target finds the source of a program, and the file for its binary.
func (p program) target(ctx context.Context) (*target, error) {
	src, err := findSource(ctx, p)
	if err != nil {
		return nil, err
	}
	src.program = p
	if err := src.forHost(ctx); err != nil {
		return nil, p.advised(err, "")
	}
	name, kept := p.name()+"-", keptBinaries
	if version := os.Getenv(KubernetesEnv); version != "" && p.folder == "" {
		if src, err = src.at(ctx, version); err != nil {
			return nil, err
		}
		if src.goMod != nil {
			name, kept = "kubernetes-"+src.kubernetes+"-", 1
		}
	}
	env, err := src.goCommand(ctx, "env", "GOVERSION", "GOOS", "GOARCH", "GOFLAGS", "GOEXPERIMENT", "CGO_ENABLED").Output()
	if err != nil {
		return nil, fmt.Errorf("plane: go env: %w", withStderr(err))
	}
	flags := src.linkFlags()
	sum, err := src.hash(string(env), flags, string(src.goMod))
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("plane: a directory for built programs: %w; or let %s name a program that was built elsewhere", err, p.env())
	}
	prefix := filepath.Join(cache, "flyball", name)
	return &target{source: src, binary: prefix + sum, flags: flags, prefix: prefix, kept: kept}, nil
}

func build(ctx context.Context, p program, progress io.Writer) (string, error) {
	if progress == nil {
		progress = io.Discard
	}
	t, err := p.target(ctx)
	if err != nil {
		return "", err
	}
	cache := filepath.Dir(t.binary)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", p.advised(fmt.Errorf("plane: a directory for built programs: %w", err), "")
	}
	if usable(t.binary) {
		return t.binary, nil
	}
	unlock, err := lock(ctx, filepath.Join(cache, "lock"), progress)
	if err != nil {
		return "", p.advised(err, "")
	}
	defer unlock()
	if usable(t.binary) { // another process has built it meanwhile
		return t.binary, nil
	}
	if err := t.build(ctx, t.binary, t.flags, progress); err != nil {
		return "", err
	}
	if p == rulesProgram { // what answers of older versions are kept in
		if err := prune(filepath.Join(cache, "answers-"), t.kept); err != nil {
			return "", err
		}
	}
	return t.binary, prune(t.prefix, t.kept)
}

// linkFlags set the version that the API server reports. Without it feature gates misbehave.
func (s source) linkFlags() string {
	const pkg = "-X k8s.io/component-base/version."
	parts := strings.SplitN(strings.TrimPrefix(s.kubernetes, "v"), ".", 3)
	flags := "-s -w " + pkg + "gitVersion=" + s.kubernetes
	if len(parts) == 3 {
		flags += " " + pkg + "gitMajor=" + parts[0] + " " + pkg + "gitMinor=" + parts[1]
	}
	return flags
}

// build compiles to a temporary file and renames it, so that binary is complete or missing.
func (s source) build(ctx context.Context, binary, flags string, progress io.Writer) error {
	start := time.Now()
	name := s.program.name()
	fmt.Fprintf(progress, "%s: building %s\n", name, s.program.parts(s.kubernetes))
	tmp := fmt.Sprintf("%s.%d", binary, os.Getpid())
	defer os.Remove(tmp)

	dir, err := os.MkdirTemp("", "flyball-kubernetes-")
	if err != nil {
		return s.program.advised(fmt.Errorf("plane: a temporary folder for the build: %w", err), "")
	}
	defer os.RemoveAll(dir)
	args, err := s.moduleFlags(dir)
	if err != nil {
		return fmt.Errorf("plane: %w", err)
	}
	args = append(args, "-buildvcs=false", "-ldflags="+flags, "-o", tmp, "./"+s.program.folder)
	total := s.toCompile(ctx, args)
	if total > 0 {
		fmt.Fprintf(progress, "%s: packages to compile: %d\n", name, total)
	}
	var packages atomic.Int64
	var failure tail
	cmd := s.goCommand(ctx, append([]string{"build", "-v"}, args...)...)
	cmd.Stderr = &lineWriter{line: func(line string) {
		if isPackage(line) {
			packages.Add(1)
		} else {
			failure.add(line)
		}
	}}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second

	done := make(chan error, 1)
	go func() { done <- cmd.Run() }()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			fmt.Fprintf(progress, "%s: building, %v, %s\n", name, time.Since(start).Round(time.Second), compiled(int(packages.Load()), total))
		case err := <-done:
			if err != nil {
				if ctx.Err() != nil {
					err = context.Cause(ctx)
				}
				return s.program.advised(fmt.Errorf("plane: build of the program %s: %w", name, err), failure.text())
			}
			fmt.Fprintf(progress, "%s: built in %v\n", name, time.Since(start).Round(time.Second))
			if err := os.Rename(tmp, binary); err != nil {
				return s.program.advised(fmt.Errorf("plane: %w", err), "")
			}
			return nil
		}
	}
}

// toCompile counts the packages that a build with these arguments has to compile. Packages in the
// build cache do not count. It returns 0 if it cannot find the number: the build works without it
// and reports errors itself.
func (s source) toCompile(ctx context.Context, args []string) int {
	n := 0
	out := &lineWriter{line: func(line string) {
		if isBanner(line) {
			n++
		}
	}}
	cmd := s.goCommand(ctx, append([]string{"build", "-n"}, args...)...)
	cmd.Stderr = out
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		return 0
	}
	return n
}

// isBanner reports whether a line of "go build -n" introduces the commands for a package.
func isBanner(line string) bool {
	pkg, ok := strings.CutPrefix(line, "# ")
	return ok && isPackage(pkg)
}

// compiled returns the progress of a build: n of total packages. A total of 0 is unknown. If
// another build fills the same cache, n ends below total.
func compiled(n, total int) string {
	if total <= 0 {
		return fmt.Sprintf("%d packages compiled", n)
	}
	return fmt.Sprintf("%d of %d packages compiled", n, max(n, total))
}

// forHost sets the build's platform to that of the go command itself.
func (s *source) forHost(ctx context.Context) error {
	out, err := s.goCommand(ctx, "env", "GOHOSTOS", "GOHOSTARCH").Output()
	if err != nil {
		return fmt.Errorf("plane: go env: %w", withStderr(err))
	}
	host := strings.Fields(string(out))
	if len(host) != 2 {
		return fmt.Errorf("plane: go env: the platform of this machine is %q", out)
	}
	s.platform = []string{"GOOS=" + host[0], "GOARCH=" + host[1]}
	return nil
}

// goCommand prepares a go command for the source's module, outside of any workspace.
func (s source) goCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = s.dir
	cmd.Env = slices.Concat(os.Environ(), []string{"GOWORK=off", "PWD=" + s.dir}, s.platform)
	return cmd
}

// isPackage reports whether a line of "go build -v" is a package path.
func isPackage(line string) bool {
	return line != "" && !strings.ContainsAny(line, " \t:#")
}

// tail holds the last lines of a compiler's output.
type tail struct{ lines []string }

func (t *tail) add(line string) {
	t.lines = append(t.lines, line)
	t.lines = t.lines[max(0, len(t.lines)-exitLines):]
}

func (t *tail) text() string {
	if len(t.lines) == 0 {
		return ""
	}
	return "\n\t" + strings.Join(t.lines, "\n\t")
}

// withStderr adds the output of a failed command to its error.
func withStderr(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}

// usable reports whether the file exists, and updates its time of last use, unless the folder is read-only.
func usable(binary string) bool {
	now := time.Now()
	if os.Chtimes(binary, now, now) == nil {
		return true
	}
	info, err := os.Stat(binary)
	return err == nil && info.Mode().IsRegular()
}

// lock takes the lock file. It polls, since waiting for a file lock cannot be cancelled.
func lock(ctx context.Context, name string, progress io.Writer) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("plane: %w", err)
	}
	tick := time.NewTicker(lockEvery)
	defer tick.Stop()
	for told := false; ; told = true {
		ok, err := tryLock(f)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("plane: lock %s: %w", name, err)
		}
		if ok {
			return func() { f.Close() }, nil
		}
		if !told {
			fmt.Fprintln(progress, "another process is building it; waiting")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("plane: waiting for another build: %w", context.Cause(ctx))
		}
	}
}

// prune removes the files whose names begin with prefix, except the most recently used.
func prune(prefix string, kept int) error {
	names, err := filepath.Glob(prefix + "*")
	if err != nil {
		return fmt.Errorf("plane: %w", err)
	}
	used := func(name string) time.Time {
		if info, err := os.Stat(name); err == nil {
			return info.ModTime()
		}
		return time.Time{}
	}
	slices.SortFunc(names, func(a, b string) int { return used(b).Compare(used(a)) })
	for _, name := range names[min(kept, len(names)):] {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("plane: %w", err)
		}
	}
	return nil
}
