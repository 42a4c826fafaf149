package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/flyball-io/flyball/adapter/internal/suites"
	"github.com/flyball-io/flyball/test/plane"
)

// suite is a compiled test suite.
type suite struct {
	name, dir, test string
	binary, focus   string
}

// result is what came of a run.
type result struct {
	suites.Report
	calls, foreign int
}

// run runs the suite on a control plane of its own.
func (s *suite) run(ctx context.Context, packed bool) (_ *result, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, bound, fmt.Errorf("%s has not ended in %v", s.name, bound))
	defer cancel()
	p, err := plane.Start(ctx, plane.Options{Binary: s.binary, Bare: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	variant := "default"
	if packed {
		variant = "packed"
	}
	report, calls := filepath.Join(s.dir, variant+".json"), filepath.Join(s.dir, variant+".calls")
	args := []string{"-test.run=^" + s.test + "$", "-ginkgo.json-report=" + report, "-ginkgo.no-color"}
	if s.focus != "" {
		args = append(args, "-ginkgo.focus="+s.focus)
	}
	cmd := exec.CommandContext(ctx, "./suite.test", args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "USE_EXISTING_CLUSTER=true", "KUBECONFIG="+p.KubeconfigPath(), "FLYBALL_CALLS="+calls)
	if packed {
		cmd.Env = append(cmd.Env, "FLYBALL_CACHE=1")
	}
	log, err := os.Create(filepath.Join(s.dir, variant+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	failure := cmd.Run() // the report says which specs failed
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	specs, err := suites.Ginkgo(report)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w: %w", s.name, variant, failure, err)
	}
	r := &result{Report: *specs}
	if counts, err := os.ReadFile(calls); err == nil {
		if _, err := fmt.Sscan(string(counts), &r.calls, &r.foreign); err != nil {
			return nil, err
		}
	}
	return r, nil
}
