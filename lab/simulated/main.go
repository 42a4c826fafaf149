// Command simulated runs published operators in the simulation, with all single faults and pairs: a table.
//
//	go run ./lab/simulated    # all
//	go run ./lab/simulated -only jobset -- -sim.part=1/4 -sim.pairs=0
//	go run ./lab/simulated -only jobset -- -sim.replay='crash-after@1:create:jobs.batch/default/a-leader-0'
//
// What follows "--" are flags of go test. It copies each operator's module from the module cache to a temporary folder,
// unedited, and adds a package with one test: the scenario, and the program as its main makes it. The libraries of the
// operator are its own, unless Flyball needs a newer one.
//
// Its output is that of go test, with the story of each plan that goes wrong. Such a plan is a finding, and no error. A
// check that does not come to its end is one.
package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flyball-io/flyball/internal/simreport"
	"github.com/flyball-io/flyball/lab/internal/suites"
)

//go:embed testdata
var scenarios embed.FS

func main() {
	only := flag.String("only", "", "`name` of one operator; empty: all")
	keep := flag.Bool("keep", false, "keep the temporary folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *only, *keep, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "simulated:", err)
		os.Exit(1)
	}
}

// run simulates the chosen operators, with more flags of go test.
func run(ctx context.Context, only string, keep bool, args []string) error {
	chosen := slices.DeleteFunc(slices.Clone(operators), func(o operator) bool { return only != "" && o.name != only })
	if len(chosen) == 0 {
		return fmt.Errorf("there is no operator %q", only)
	}
	dir, err := os.MkdirTemp("", "flyball-simulated-")
	if err != nil {
		return err
	}
	if keep {
		fmt.Fprintln(os.Stderr, "simulated: folder", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	table := "| operator | single faults | tried | pairs | runs | failed | time |\n|---|---|---|---|---|---|---|\n"
	var bad []error
	for _, o := range chosen {
		r, err := o.simulate(ctx, filepath.Join(dir, o.name), args)
		if ctx.Err() != nil {
			return errors.Join(append(bad, context.Cause(ctx))...)
		}
		if err != nil { // the next operator has its turn
			bad = append(bad, fmt.Errorf("%s: %w", o.name, err))
			continue
		}
		table += row(o, r)
	}
	fmt.Print(table)
	return errors.Join(bad...)
}

// row is a line of the table.
func row(o operator, r *simreport.Report) string {
	took := time.Duration(r.Seconds * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("| %s %s | %d | %d | %d | %d | %d | %v |\n", o.name, o.version, r.Singles, r.SinglesTried, r.Pairs, r.Runs, r.Failed, took)
}

// folder is the package that is added to the module.
const folder = "flyballsim"

// simulate copies an operator's module, and runs its scenario there.
func (o operator) simulate(ctx context.Context, dir string, args []string) (*simreport.Report, error) {
	root, err := suites.Copy(ctx, dir, o.module, o.version)
	if err != nil {
		return nil, err
	}
	if err := suites.RequireCore(ctx, dir, root); err != nil {
		return nil, err
	}
	reports := filepath.Join(dir, folder, "reports")
	if err := os.MkdirAll(reports, 0o755); err != nil {
		return nil, err
	}
	for _, from := range []string{"testdata/kit_test.go.txt", o.scenario()} {
		text, err := scenarios.ReadFile(from)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, folder, strings.TrimSuffix(path.Base(from), ".txt")), text, 0o644); err != nil {
			return nil, err
		}
	}
	all := append([]string{"test", "-mod=mod", "-vet=off", "-count=1", "-timeout=0", "-run=^TestSim$", "-v", "./" + folder}, args...)
	cmd := exec.CommandContext(ctx, "go", all...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", simreport.FolderVariable+"="+reports)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, 10*time.Second
	failure := cmd.Run()
	return judged(reports, failure)
}

// judged returns the report of a check that has come to its end. Failure is that of go test.
func judged(reports string, failure error) (*simreport.Report, error) {
	all, err := simreport.ReadAll(reports)
	if err != nil {
		return nil, err
	}
	switch {
	case len(all) != 1 || !all[0].Done:
		return nil, fmt.Errorf("the check did not come to its end: %w", cmp.Or(failure, errors.New("there is no report of it")))
	case len(all[0].Problems) > 0:
		return nil, errors.New(all[0].Problems[0])
	}
	return all[0], nil
}
