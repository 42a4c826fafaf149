package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/flyball-io/flyball/adapter/internal/suites"
	"github.com/flyball-io/flyball/test/plane"
)

// tests are the compiled tests of a package of an operator.
type tests struct {
	operator
	name, dir, binary string
	ginkgo            bool
}

// result is what came of a run. peak is the most memory of the test process, in bytes.
type result struct {
	suites.Report
	caches int
	peak   int64
}

// bound is the longest time that the tests of a package may take.
const bound = 20 * time.Minute

func (t *tests) build(ctx context.Context) error {
	if _, err := suites.Command(ctx, t.dir, "go", "test", "-mod=mod", "-c", "-o", "operator.test", "."); err != nil {
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

// run runs the tests on a control plane of their own.
func (t *tests) run(ctx context.Context, packed bool) (_ *result, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, bound, fmt.Errorf("%s has not ended in %v", t.name, bound))
	defer cancel()
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
	args := []string{"-test.v=test2json", "-test.timeout=" + bound.String()}
	if t.ginkgo {
		args = []string{"-ginkgo.json-report=" + report, "-ginkgo.no-color"}
	}
	cmd := exec.CommandContext(ctx, "./operator.test", args...)
	cmd.Dir = t.dir
	cmd.Env = append(os.Environ(), "USE_EXISTING_CLUSTER=true", "KUBECONFIG="+p.KubeconfigPath(), "FLYBALL_CALLS="+calls)
	if packed {
		cmd.Env = append(cmd.Env, "FLYBALL_CACHE=1")
	}
	logFile := filepath.Join(t.dir, variant+".log")
	log, err := os.Create(logFile)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	failure := cmd.Run()
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	r := &result{peak: peak(cmd.ProcessState)}
	if err := r.read(t.ginkgo, report, logFile); err != nil {
		return nil, fmt.Errorf("%s, %s: %w: %w", t.name, variant, failure, err)
	}
	if failure != nil && len(r.Failed) == 0 {
		r.Failed = append(r.Failed, "the test process\n"+failure.Error())
	}
	if n, err := os.ReadFile(calls); err == nil {
		if _, err := fmt.Sscan(string(n), &r.caches); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *result) read(ginkgo bool, report, log string) error {
	if ginkgo {
		specs, err := suites.Ginkgo(report)
		if err == nil {
			r.Report = *specs
		}
		return err
	}
	out, err := os.ReadFile(log)
	if err == nil {
		r.Report = *suites.GoTest(out)
	}
	return err
}
