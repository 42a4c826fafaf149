// Package simulate finds the simulations of a project, runs them, and gathers their reports.
//
//	Find: go list, then which tests call sim.Check ──▶ Run: go test, package by package ──▶ Result: reports, failures
package simulate

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flyball-io/flyball/cmd/flyball/internal/procgroup"
	"github.com/flyball-io/flyball/internal/simreport"
)

// Options say how the simulations run.
type Options struct {
	Dir string
	// Match is a regular expression of tests that run in place of those that call sim.Check; "": none.
	Match string
	// Flags are those of the tests, such as -sim.seed=2.
	Flags []string
	// Progress is called from time to time with what is done, one call at a time.
	Progress func(string)
}

// Result is what came of it.
type Result struct {
	Reports  []*simreport.Report
	Failures []Failure
}

// Failure is what went wrong besides findings of checks: a package that does not build, a test process that died.
type Failure struct {
	Package, What string
	// Output is the end of what the tests or the compiler printed.
	Output string
}

// mostOutput is how much of an output is kept: its end.
const mostOutput = 64 << 10

// waitDelay is how long go test may take to end after it was asked to.
const waitDelay = 30 * time.Second

// lookEvery is how often the reports of running checks are read.
const lookEvery = 500 * time.Millisecond

// Run runs the simulations of packages, one package after the other: each check uses all processors. The error is that
// of a context that has ended, or of what has nothing to do with the packages.
func Run(ctx context.Context, packages []Package, o Options) (*Result, error) {
	folder, err := os.MkdirTemp("", "flyball-sim-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	out := &Result{}
	for i, p := range packages {
		r := &run{o: o, p: p, folder: filepath.Join(folder, strconv.Itoa(i)), where: fmt.Sprintf(" (package %d of %d)", i+1, len(packages)), tests: map[string]*test{}}
		if err := os.Mkdir(r.folder, 0o700); err != nil {
			return nil, err
		}
		if err := r.run(ctx); err != nil {
			return nil, err
		}
		r.gather(out)
	}
	return out, nil
}

// run is a run of go test for one package.
type run struct {
	o             Options
	p             Package
	folder, where string
	tests         map[string]*test // top-level tests; "" has what the package printed
	building      []byte           // what the compiler printed
	unbuilt       bool
	err           error // of go test
}

// test is what go test said of a test.
type test struct {
	output []byte
	result string // "pass", "fail", "skip"; "" if it did not end
}

// run runs go test. Meanwhile it tells the progress.
func (r *run) run(ctx context.Context) error {
	match := r.o.Match
	if match == "" && len(r.p.Tests) > 0 {
		match = "^(" + strings.Join(r.p.Tests, "|") + ")$"
	}
	args := []string{"test", "-json", "-count=1", "-timeout=0"}
	if match != "" {
		args = append(args, "-run="+match)
	}
	cmd := exec.CommandContext(ctx, "go", slices.Concat(args, []string{r.p.Path}, r.o.Flags)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = r.o.Dir, append(os.Environ(), simreport.FolderVariable+"="+r.folder), waitDelay
	procgroup.Lead(cmd)
	var bad bytes.Buffer
	lines, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, &bad
	read := make(chan struct{})
	go func() {
		defer close(read)
		r.read(lines)
	}()
	done := make(chan error, 1)
	go func() {
		err := cmd.Run()
		_ = w.Close()
		<-read
		done <- err
	}()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case r.err = <-done:
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			r.building = append(r.building, bad.Bytes()...)
			return nil
		case <-look.C:
			r.o.Progress(r.progress())
		}
	}
}

// progress says how far the run is.
func (r *run) progress() string {
	all, _ := simreport.ReadAll(r.folder) // errors are told at the end
	for _, x := range slices.Backward(all) {
		switch {
		case x.Done:
		case x.Runs == 0:
			return x.Test + ": prepares; the first check of a machine takes 3 to 5 minutes" + r.where
		default:
			return fmt.Sprintf("%s: %d of %d single faults, %d pairs, %d failed%s", x.Test, x.SinglesTried, x.Singles, x.Pairs, x.Failed, r.where)
		}
	}
	if len(all) > 0 {
		return all[len(all)-1].Test + ": done" + r.where
	}
	return "building " + r.p.Path + r.where
}

// event is a line of "go test -json".
type event struct {
	Action, Test, Output, FailedBuild string
}

// read reads what go test prints. Lines of another form are kept as they are.
func (r *run) read(from io.Reader) {
	in := bufio.NewReader(from)
	for {
		line, err := in.ReadBytes('\n')
		var e event
		switch {
		case len(line) == 0:
		case json.Unmarshal(line, &e) != nil:
			r.building = tail(append(r.building, line...))
		case e.Action == "build-output":
			r.building = tail(append(r.building, e.Output...))
		default:
			r.take(e)
		}
		if err != nil {
			return
		}
	}
}

func (r *run) take(e event) {
	r.unbuilt = r.unbuilt || e.FailedBuild != ""
	name, sub, _ := strings.Cut(e.Test, "/")
	t := r.tests[name]
	if t == nil {
		t = &test{}
		r.tests[name] = t
	}
	switch e.Action {
	case "output":
		t.output = tail(append(t.output, e.Output...))
	case "pass", "fail", "skip":
		if sub == "" {
			t.result = e.Action
		}
	}
}

// tail returns the end of an output, which the caller owns.
func tail(b []byte) []byte {
	if len(b) <= 2*mostOutput { // so that it is rarely copied
		return b
	}
	return append([]byte("…\n"), b[len(b)-mostOutput:]...)
}

// gather adds the reports and the failures of the run.
func (r *run) gather(out *Result) {
	fail := func(what string, output []byte) {
		out.Failures = append(out.Failures, Failure{Package: r.p.Path, What: what, Output: simreport.Visible(string(bytes.TrimSpace(output)), 3*mostOutput)})
	}
	all, err := simreport.ReadAll(r.folder)
	if err != nil {
		fail(err.Error(), nil)
	}
	explained := err != nil
	for _, x := range all {
		x.Package = cmp.Or(x.Package, r.p.Path)
		out.Reports = append(out.Reports, x)
		name, _, _ := strings.Cut(x.Test, "/")
		if !x.Done {
			what := x.Test + " did not end: its process has died"
			if t := r.tests[name]; t != nil && t.result != "" {
				what = x.Test + " ended before its check was done"
			}
			fail(what, r.output(name))
		}
		explained = explained || !x.OK()
	}
	for _, name := range slices.Sorted(maps.Keys(r.tests)) {
		t := r.tests[name]
		of := func(x *simreport.Report) bool {
			top, _, _ := strings.Cut(x.Test, "/")
			return top == name && !x.OK()
		}
		if name != "" && t.result == "fail" && !slices.ContainsFunc(all, of) {
			fail(name+" fails, and not by its check", t.output)
			explained = true
		}
	}
	switch {
	case r.unbuilt:
		fail("it does not build", r.building)
	case r.err != nil && !explained:
		fail(fmt.Sprintf("go test fails: %v", r.err), append(r.building, r.output("")...))
	}
}

// output returns what a test printed, and what the package did: a process that dies prints without a name.
func (r *run) output(name string) (text []byte) {
	for _, n := range slices.Compact([]string{name, ""}) {
		if t := r.tests[n]; t != nil {
			text = append(text, t.output...)
		}
	}
	return text
}
