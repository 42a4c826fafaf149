package adopt

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flyball-io/flyball/cmd/flyball/internal/procgroup"
	"github.com/flyball-io/flyball/test/plane"
)

const envtestPath = ctrlPath + "/pkg/envtest"

// tickEvery is how often a long step says that it still works.
const tickEvery = 5 * time.Second

// waitDelay is how long a command may take to end after it was asked to.
const waitDelay = 30 * time.Second

// NoControlPlaneError says that the tests of a project need a control plane that is not there.
type NoControlPlaneError struct {
	// File is a test that uses envtest, or a helper of tests.
	File string
}

func (e *NoControlPlaneError) Error() string {
	return fmt.Sprintf("%s uses envtest, and there is no control plane for it: neither KUBEBUILDER_ASSETS is set nor does bin/k8s have one (make setup-envtest, or make test, fetches it); "+
		"--controlplane runs the tests on Flyball's own, --skip-tests without them", e.File)
}

// FailedError says that a step failed, before or with the change. Nothing was changed.
type FailedError struct {
	// When is "before", "raised", "after" or "undone", or empty for a command that tries nothing, Step the command, and Output what it printed.
	When, Step, Output string
	Err                error
}

func (e *FailedError) Error() string {
	why, output := e.cause(), strings.TrimRight(e.Output, "\n")
	if output != why {
		why += "\n" + output
	}
	what := "with the packed cache"
	switch e.When {
	case "":
		return e.Step + ": " + why
	case "before":
		what = "as it is, without any change,"
	case "raised":
		what = "with the raised versions, and without the packed cache,"
	case "undone":
		what = "without the packed cache"
	}
	return fmt.Sprintf("the project %s fails at %s: %s", what, e.Step, why)
}

// cause returns the first error of the output: of a chain of imports the last one, with its error.
func (e *FailedError) cause() string {
	first := ""
	for line := range strings.Lines(e.Output) {
		line = strings.TrimRight(line, "\n")
		if first != "" && !strings.HasPrefix(line, "\t") {
			break
		}
		if line != "" && !strings.HasPrefix(line, "#") { // the name of a package is no error
			first = line
		}
	}
	if first = strings.TrimPrefix(strings.TrimSpace(first), "go: "); first == "" {
		return e.Err.Error()
	}
	return first
}

func (e *FailedError) Unwrap() error { return e.Err }

// BrokenError says that tests passed before, and do not with the change. Nothing was changed.
type BrokenError struct {
	// Tests are their packages and names, without those that only repeat the failure of a subtest.
	Tests []string
	// Broken has all of them, and what each does instead.
	Broken []Broken
	// Output is what they printed.
	Output string
}

// mostBroken is how many tests the error names.
const mostBroken = 20

func (e *BrokenError) Error() string {
	var named []string
	for _, b := range e.Broken {
		if slices.Contains(e.Tests, b.Name) {
			named = append(named, b.Name+" "+b.Now)
		}
	}
	if n := len(named) - mostBroken; n > 0 {
		named = append(named[:mostBroken], fmt.Sprintf("and %d more", n))
	}
	return fmt.Sprintf("these tests passed before and do not with the packed cache: %s\n%s", strings.Join(named, ", "), strings.TrimRight(e.Output, "\n"))
}

// newBrokenError returns the error of two runs, or nil. The output is that of the tests and of their packages, which
// says why a run ended.
func newBrokenError(before, after *report) error {
	e := &BrokenError{Broken: after.broken(before)}
	if len(e.Broken) == 0 {
		return nil
	}
	for _, b := range e.Broken {
		e.Tests = append(e.Tests, b.Name)
	}
	e.Tests = innermost(e.Tests)
	var shown []string
	for _, name := range e.Tests {
		pkg, _, _ := strings.Cut(name, " ")
		shown = append(shown, name)
		for _, failed := range after.failed() {
			if within(failed, pkg) || failed == pkg {
				shown = append(shown, failed)
			}
		}
	}
	slices.Sort(shown)
	for _, name := range slices.Compact(shown) {
		e.Output += after.output[name]
	}
	return e
}

// trial builds and tests a copy of a project, before and after a change.
type trial struct {
	o      *Options
	dir    string
	tests  bool
	skip   bool // packages of end-to-end tests are left out
	assets string
	before *report
	// vetFails says that go vet failed before the change.
	vetFails bool
}

// raised builds the copy with the raised libraries, and without the packed cache: what fails is due to them.
func (t *trial) raised(ctx context.Context, all []Lift) error {
	// Their folder vendor comes later.
	err := t.o.compile(ctx, "raised", t.dir, "go", "build", "-mod=mod", "./...")
	if f, ok := errors.AsType[*FailedError](err); ok {
		f.When, f.Step = "raised", "go build ./..."
		f.Output += "The packed cache needs these versions. Bring the code to them first:"
		for _, l := range all {
			if !l.Indirect {
				f.Output += "\n  " + l.String()
			}
		}
	}
	return err
}

// plan finds out what the tests need.
func (t *trial) plan(p *Project, r *Result) error {
	t.tests = true
	files, err := p.imports(func(file, path string) bool {
		return path == envtestPath && !endToEnd(file) // a test, or a helper of tests
	})
	if err != nil {
		return err
	}
	if err := p.goFiles(func(name string) error {
		t.skip = t.skip || endToEnd(name)
		return nil
	}); err != nil {
		return err
	}
	if t.skip {
		r.Notes = append(r.Notes, "the packages of end-to-end tests (e2e) need a cluster and were not run")
	}
	if len(files) == 0 || t.o.ControlPlane || os.Getenv("KUBEBUILDER_ASSETS") != "" || strings.EqualFold(os.Getenv("USE_EXISTING_CLUSTER"), "true") {
		return nil
	}
	if t.assets = findAssets(p.Dir); t.assets == "" {
		return &NoControlPlaneError{File: files[0]}
	}
	return nil
}

// endToEnd reports whether a file or package is one of tests that need a cluster with the operator in it.
func endToEnd(name string) bool { return slices.Contains(strings.Split(name, "/"), "e2e") }

// findAssets returns the newest folder below bin/k8s that has an API server, or the place where envtest
// looks by itself.
func findAssets(dir string) string {
	var found []string
	for _, pattern := range []string{"bin/k8s/*/kube-apiserver", "bin/k8s/k8s/*/kube-apiserver", "testbin/bin/kube-apiserver", "testbin/k8s/*/kube-apiserver"} {
		names, _ := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern))) // the pattern is right
		found = append(found, names...)
	}
	if len(found) == 0 {
		found, _ = filepath.Glob("/usr/local/kubebuilder/bin/kube-apiserver")
	}
	if len(found) == 0 {
		return ""
	}
	abs, err := filepath.Abs(filepath.Dir(slices.Max(found)))
	if err != nil {
		return ""
	}
	return abs
}

// run builds and tests the copy. when is as in FailedError.
func (t *trial) run(ctx context.Context, when string) error {
	for _, args := range [][]string{{"go", "build", "./..."}, {"go", "vet", "./..."}} {
		if t.vetFails && args[1] == "vet" {
			continue
		}
		if err := t.o.compile(ctx, when, t.dir, args...); err != nil {
			f, ok := errors.AsType[*FailedError](err)
			if ctx.Err() != nil || !ok {
				return err
			}
			if when == "before" && args[1] == "vet" {
				t.vetFails = true
				fmt.Fprintln(t.o.Progress, "before: go vet fails already, without any change: it is not asked again")
				continue
			}
			f.When, f.Step = when, strings.Join(args, " ")
			return err
		}
	}
	if !t.tests {
		return nil
	}
	r, err := t.test(ctx, when)
	if err != nil {
		return err
	}
	if when == "before" {
		t.before = r
		if failed := r.failed(); len(failed) > 0 {
			fmt.Fprintf(t.o.Progress, "before: %s failed already, without any change: %s\n", counted(len(failed), "test"), strings.Join(failed, ", "))
		}
		return nil
	}
	return newBrokenError(t.before, r)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// test runs the tests.
func (t *trial) test(ctx context.Context, when string) (r *report, err error) {
	all, err := t.packages(ctx)
	if err != nil {
		return nil, err
	}
	args, env := []string{"test", "-count=1", "-json"}, []string(nil)
	if t.assets != "" {
		env = append(env, "KUBEBUILDER_ASSETS="+t.assets)
	}
	if t.o.ControlPlane {
		p, bad := plane.Start(ctx, plane.Options{Bare: true, Progress: t.o.Progress})
		if bad != nil {
			if ctx.Err() != nil {
				bad = context.Cause(ctx)
			}
			return nil, bad
		}
		defer func() { err = errors.Join(err, p.Close()) }()
		env = append(env, "USE_EXISTING_CLUSTER=true", "KUBECONFIG="+p.KubeconfigPath())
		args = append(args, "-p=1") // its packages share the control plane
	}
	r = newReport()
	state := func() string { return fmt.Sprintf("%d of %s done", r.done, counted(len(all), "package")) }
	for _, run := range runs(all) {
		if err := run.prepare(); err != nil {
			return nil, err
		}
		err := t.o.watched(ctx, when+": go test", t.dir, env, r.read, state, "go", slices.Concat(args, run.paths(), run.args)...)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if failed, ok := errors.AsType[*FailedError](err); ok && len(r.failed()) == 0 {
			failed.When, failed.Step = when, "go test"
			return nil, failed // it did not get to the tests
		}
		if err := run.readSpecs(r); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(t.o.Progress, "%s: %s ran, %d failed\n", when, counted(r.ran(), "test"), len(r.failed()))
	return r, nil
}

// packages lists the packages to test.
func (t *trial) packages(ctx context.Context) ([]testedPackage, error) {
	out, err := t.o.output(ctx, t.dir, "go", "list", "-json=ImportPath,Dir,TestImports,XTestImports", "./...")
	if err != nil {
		return nil, err
	}
	var all []testedPackage
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p testedPackage
		if err := d.Decode(&p); err != nil {
			return nil, err
		}
		if !endToEnd(p.ImportPath) {
			all = append(all, p)
		}
	}
	return all, nil
}

// compile is step for a Go command that compiles: it says which packages it is done with.
func (o *Options) compile(ctx context.Context, when, dir string, args ...string) error {
	err := o.step(ctx, when+": "+strings.Join(args, " "), dir, nil, args[0], slices.Concat(args[1:2], []string{"-v"}, args[2:])...)
	if f, ok := errors.AsType[*FailedError](err); ok {
		f.Output = compiled.ReplaceAllString(f.Output, "")
	}
	return err
}

// compiled are the lines of a Go command with -v: the import path of a package.
var compiled = regexp.MustCompile(`(?m)^[\w.~/-]+\n`)

// step runs a command that may take long. The error is a *FailedError with its output.
func (o *Options) step(ctx context.Context, what, dir string, env []string, name string, args ...string) error {
	return o.watched(ctx, what, dir, env, nil, nil, name, args...)
}

// watched is step with a function that gets the lines of the standard output, and one that tells how far
// it is. Both are called one at a time. Without the latter, the last line that the command wrote tells.
func (o *Options) watched(ctx context.Context, what, dir string, env []string, line func([]byte), state func() string, name string, args ...string) error {
	began := time.Now()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, environment(dir, env...), waitDelay
	procgroup.Lead(cmd)
	var mu sync.Mutex
	var out bytes.Buffer
	cmd.Stderr = locked{&mu, &out}
	var read sync.WaitGroup
	if line == nil {
		cmd.Stdout = cmd.Stderr
	} else {
		r, w := io.Pipe()
		cmd.Stdout = w
		read.Go(func() {
			lines := bufio.NewReader(r)
			for {
				text, err := lines.ReadBytes('\n')
				mu.Lock()
				line(text)
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
		defer read.Wait()
		defer w.Close()
	}
	ended := ticking(o.Progress, what, func() string {
		mu.Lock()
		defer mu.Unlock()
		if state == nil {
			return lastLine(out.Bytes())
		}
		return ", " + state()
	})
	err := cmd.Run()
	ended()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		mu.Lock()
		defer mu.Unlock()
		return &FailedError{When: "after", Step: what, Output: causes(out.String()), Err: err}
	}
	fmt.Fprintf(o.Progress, "%s: %s\n", what, time.Since(began).Round(100*time.Millisecond))
	return nil
}

// ticking says what begins, and from time to time that it goes on, with what more tells. ended ends that, and waits for
// the last line.
func ticking(progress io.Writer, what string, more func() string) (ended func()) {
	began := time.Now()
	fmt.Fprintf(progress, "%s ...\n", what)
	end := make(chan struct{})
	var ticked sync.WaitGroup
	ticked.Go(func() {
		tick := time.NewTicker(tickEvery)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				far := ""
				if more != nil {
					far = more()
				}
				fmt.Fprintf(progress, "%s: %s%s\n", what, time.Since(began).Round(time.Second), far)
			}
		}
	})
	return func() {
		close(end)
		ticked.Wait()
	}
}

// lastLine returns the last whole line of an output, after a comma.
func lastLine(out []byte) string {
	out = out[:bytes.LastIndexByte(out, '\n')+1]
	line := bytes.TrimPrefix(bytes.TrimSpace(out[bytes.LastIndexByte(bytes.TrimSpace(out), '\n')+1:]), []byte("go: "))
	if len(line) == 0 {
		return ""
	}
	return ", " + string(line[:min(len(line), 100)])
}

// fetches begins the lines of a Go command about what it fetches and finds.
var fetches = regexp.MustCompile(`(?m)^go: (downloading|finding|found|added|upgraded|downgraded|removed) .*\n?`)

// causes returns what a Go command printed without its lines about what it fetches, under which the cause would be hard
// to find.
func causes(output string) string { return fetches.ReplaceAllString(output, "") }

// locked is a writer under a lock.
type locked struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
