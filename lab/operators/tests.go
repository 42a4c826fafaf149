package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/flyball-io/flyball/lab/internal/suites"
)

// tests are the compiled tests of a package of an operator.
type tests struct {
	operator
	comparison
	name, dir, binary string
	ginkgo            bool
	bound             time.Duration
}

// result is what came of a run. peak is the most memory of the test process, in bytes.
type result struct {
	suites.Report
	caches int
	peak   int64
	took   time.Duration
}

const testBinary = "operator.test"

func (t *tests) build(ctx context.Context) error {
	if _, err := suites.Command(ctx, t.dir, "go", "test", "-mod=mod", "-vet=off", "-c", "-o", testBinary, "."); err != nil {
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

// run runs the tests on a server of their own: the first run, or the second of the comparison.
func (t *tests) run(ctx context.Context, second bool) (*result, error) {
	run := suites.Run{Dir: t.dir, Binary: "./" + testBinary, Name: "default", Ginkgo: t.ginkgo, Bound: t.bound, Plane: t.binary}
	switch {
	case second && t.memory:
		run.Name, run.Plane, run.Memory = "memory", "", true
	case second:
		run.Name, run.Env = "packed", []string{"FLYBALL_CACHE=1"}
	}
	r, err := run.Do(ctx)
	if err != nil {
		return nil, err
	}
	return &result{Report: r.Report, caches: r.Calls, peak: peak(r.State), took: r.Took}, nil
}
