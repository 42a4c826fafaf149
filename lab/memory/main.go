// Command memory runs tests of published modules on an API server in memory, and beside it on the real control plane.
// The tests and the code that they test are unchanged: only the server is another one.
//
//	go run ./lab/memory    # all suites; a table in Markdown
//	go run ./lab/memory -suites cache,builder -plane=false
//
// It copies the modules from the module cache to a temporary folder. Each run has a server of its own.
//
// A test that passes on the control plane and fails in memory must be in the list of exceptions, with a reason; so must
// a test that runs only on the control plane.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/flyball-io/flyball/lab/internal/suites"
	"github.com/flyball-io/flyball/test/plane"
)

func main() {
	only := flag.String("suites", strings.Join(names(), ","), "`names` of suites, separated by commas")
	keep := flag.Bool("keep", false, "keep the temporary folder, with reports and logs")
	var m memory
	flag.BoolVar(&m.real, "plane", true, "run them on the control plane, too")
	flag.StringVar(&m.focus, "focus", "", "`expression` for the names of specs or tests: only those run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := m.run(ctx, strings.Split(*only, ","), *keep); err != nil {
		fmt.Fprintln(os.Stderr, "memory:", err)
		os.Exit(1)
	}
}

// memory has the flags, and the folder with copies of the modules.
type memory struct {
	real  bool
	focus string
	dir   string
	plane string // the binary of the control plane
}

// runs has the results of a suite: over the peer's own fake, on the control plane, and in memory. nil means not run.
type runs struct{ own, real, memory *suites.Result }

func (m *memory) run(ctx context.Context, names []string, keep bool) (err error) {
	var wanted []suite
	for _, name := range names {
		s, err := find(name)
		if err != nil {
			return err
		}
		wanted = append(wanted, s)
	}
	if m.dir, err = os.MkdirTemp("", "flyball-memory-"); err != nil {
		return err
	}
	if keep {
		fmt.Fprintln(os.Stderr, "memory: folder", m.dir)
	} else {
		defer os.RemoveAll(m.dir)
	}
	if m.real {
		if m.plane, err = plane.Build(ctx, os.Stderr); err != nil {
			return err
		}
	}
	fmt.Println("| suite | tests | control plane | in memory | time, control plane | in memory |")
	fmt.Println("|---|---|---|---|---|---|")
	var bad []error
	var excepted []string
	for _, s := range wanted {
		r, err := m.runSuite(ctx, s)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("%s: %w", s.name, err))
			fmt.Printf("| %s | did not run | | | | |\n", s.name)
			continue
		}
		problems, known := judge(s, r)
		fmt.Println(row(s.name, r))
		bad, excepted = append(bad, problems...), append(excepted, known...)
	}
	for _, e := range excepted {
		fmt.Println("\n- " + e)
	}
	return errors.Join(bad...)
}

// runSuite builds a suite and runs it on each server.
func (m *memory) runSuite(ctx context.Context, s suite) (r runs, err error) {
	built, err := s.build(ctx, m.dir, s)
	if err != nil {
		return r, err
	}
	built.Reports = m.dir
	if m.focus != "" && built.Ginkgo {
		built.Args = append(built.Args, "-ginkgo.focus="+m.focus)
	} else if m.focus != "" {
		built.Args = append(built.Args, "-test.run="+m.focus)
	}
	if s.own {
		if r.own, err = built.Do(ctx); err != nil {
			return r, err
		}
		built.Env = append(built.Env, "FLYBALL_SERVER=1")
	}
	if m.real {
		run := built
		run.Name, run.Plane = built.Name+"-plane", m.plane
		if r.real, err = run.Do(ctx); err != nil {
			return r, err
		}
	}
	run := built
	run.Name, run.Memory = built.Name+"-memory", true
	r.memory, err = run.Do(ctx)
	return r, err
}

// bound bounds the time of one run of a suite.
const bound = 5 * time.Minute
