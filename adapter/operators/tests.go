package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/flyball-io/flyball/adapter/internal/suites"
	"github.com/flyball-io/flyball/test/plane"
)

// tests are the compiled tests of a package of an operator.
type tests struct {
	operator
	name, dir, binary string
	ginkgo            bool
	bound, graceful   time.Duration
}

// result is what came of a run. peak is the most memory of the test process, in bytes.
type result struct {
	suites.Report
	caches int
	peak   int64
	took   time.Duration
}

// graceful is how long the tests have to say what hung, after their bound.
const graceful = time.Minute

const testBinary = "operator.test"

func (t *tests) build(ctx context.Context) error {
	if _, err := suites.Command(ctx, t.dir, "go", "test", "-mod=mod", "-c", "-o", testBinary, "."); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(t.dir, "*_test.go"))
	if err != nil {
		return err
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		t.ginkgo = t.ginkgo || bytes.Contains(b, []byte("RunSpecs("))
	}
	return nil
}

// run runs the tests on a control plane of their own. Errors are those of the control plane, and the end of ctx:
// what the tests do is in the result.
func (t *tests) run(ctx context.Context, packed bool) (_ *result, err error) {
	p, err := plane.Start(ctx, plane.Options{Binary: t.binary, Bare: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	variant := "default"
	if packed {
		variant = "packed"
	}
	report, calls := filepath.Join(t.dir, variant+".json"), filepath.Join(t.dir, variant+".calls")
	env := append(os.Environ(), "USE_EXISTING_CLUSTER=true", "KUBECONFIG="+p.KubeconfigPath(), "FLYBALL_CALLS="+calls)
	if packed {
		env = append(env, "FLYBALL_CACHE=1")
	}
	r, err := t.execute(ctx, "./"+testBinary, env, report, filepath.Join(t.dir, variant+".log"))
	if err != nil {
		return nil, err
	}
	if n, err := os.ReadFile(calls); err == nil {
		if _, err := fmt.Sscan(string(n), &r.caches); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// execute runs a test binary. What hangs is asked for its name, then for its goroutines, and then killed: each is
// a failure.
func (t *tests) execute(ctx context.Context, binary string, env []string, report, logFile string) (*result, error) {
	args := []string{"-test.v=test2json", "-test.timeout=" + t.bound.String()}
	if t.ginkgo {
		args = []string{"-ginkgo.json-report=" + report, "-ginkgo.no-color", "-ginkgo.timeout=" + t.bound.String()}
	}
	bounded, cancel := context.WithTimeout(ctx, t.bound+t.graceful)
	defer cancel()
	cmd := exec.CommandContext(bounded, binary, args...)
	cmd.Dir, cmd.Env = t.dir, env
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.WaitDelay = 10 * time.Second
	log, err := os.Create(logFile)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	start := time.Now()
	failure := cmd.Run()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if cmd.ProcessState == nil { // it has not begun
		return nil, failure
	}
	out, err := os.ReadFile(logFile)
	if err != nil {
		return nil, err
	}
	r := &result{Report: *suites.GoTest(out), peak: peak(cmd.ProcessState), took: time.Since(start)}
	if t.ginkgo {
		specs, err := suites.Ginkgo(report)
		if err != nil {
			r.Report = suites.Report{Failed: []string{"the test process\nit wrote no report: " + err.Error()}}
		} else {
			r.Report = *specs
		}
	}
	switch {
	case bounded.Err() != nil:
		r.Failed = append(r.Failed, fmt.Sprintf("the test process\nit did not end in %v", t.bound+t.graceful))
	case failure != nil && len(r.Failed) == 0:
		r.Failed = append(r.Failed, "the test process\n"+failure.Error()+"\n"+suites.Last(out))
	}
	return r, nil
}
