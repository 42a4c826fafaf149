package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flyball-io/flyball/cmd/flyball/internal/simpage"
	"github.com/flyball-io/flyball/cmd/flyball/internal/simulate"
	"github.com/flyball-io/flyball/internal/simreport"
)

// simFlags are the flags of "flyball sim".
type simFlags struct {
	dir, run, replay, out string
	seed                  uint64
	pairs                 int
	budget                time.Duration
}

func newSim() *cobra.Command {
	var f simFlags
	cmd := &cobra.Command{
		Use:   "sim [PACKAGE...]",
		Short: "Run a project's simulations, and show what they tried and found",
		Long: `Run the simulations of packages (default ./...): the tests that call sim.Check. It
tries what can go wrong around a program, at each point of a scenario; see
docs/simulation.md. Other tests do not run, nor do packages without simulations.

While it runs it says which check it is at, how many plans were tried and how many
failed. At the end it writes one HTML page, which needs nothing else:

  - the checks, with what each has tried;
  - for each choice of the program's run, which faults were tried, and how each ended;
  - for each plan that failed what happened, beside the run without faults, and
    the command that repeats it.

The exit status is 1 if a check failed or could not run; the page is written all the
same. A file that flyball did not write is never replaced.

Flags of the go command are taken from GOFLAGS: GOFLAGS=-tags=e2e flyball sim. The
first check of a machine builds the rules of Kubernetes, which takes 3 to 5 minutes
on two cores.`,
		Example: `  flyball sim
  flyball sim ./internal/controller --budget 10m -o night.html
  flyball sim --run '^TestOrders$' --replay 'crash-after@1:create:secrets/default/a-tls'`,
		Args: func(cmd *cobra.Command, args []string) error { return f.check(cmd.Flags().Changed, args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.execute(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), cmd.Flags().Changed, args)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.dir, "dir", ".", "`DIR` of the project, or a folder in it")
	fs.StringVarP(&f.out, "output", "o", "sim.html", "`FILE` of the page")
	fs.StringVar(&f.run, "run", "", "run the tests that match this regular `EXPRESSION`, in place of all that call sim.Check")
	fs.StringVar(&f.replay, "replay", "", "run this `PLAN` alone, of the check that --run names")
	fs.IntVar(&f.pairs, "pairs", 0, "try this `number` of plans of several faults, if no single fault fails (default 200)")
	fs.Uint64Var(&f.seed, "seed", 0, "draw plans of several faults by this `number` (default 1)")
	fs.DurationVar(&f.budget, "budget", 0, "try plans of several faults for this `time`, in place of a number of them")
	for _, flag := range []string{"run", "replay", "pairs", "seed", "budget"} {
		complete(cmd, flag)
	}
	return cmd
}

// check rejects what can only be a mistake.
func (f *simFlags) check(given func(string) bool, args []string) error {
	for _, a := range args {
		if strings.HasPrefix(a, "-") {
			return fmt.Errorf("%q is no package: flags of the go command are taken from GOFLAGS", a)
		}
	}
	switch {
	case f.pairs < 0:
		return fmt.Errorf("--pairs %d: the number of pairs must not be negative", f.pairs)
	case given("budget") && f.budget <= 0:
		return fmt.Errorf("--budget %v: it must be more than nothing", f.budget)
	case given("budget") && given("pairs"):
		return errors.New("--budget bounds the time and --pairs the number: give one of them")
	case given("replay") && (given("pairs") || given("seed") || given("budget")):
		return errors.New("--replay runs one plan alone: --pairs, --seed and --budget have no meaning for it")
	case given("replay") && strings.TrimSpace(f.replay) == "":
		return errors.New("--replay: the plan is empty")
	case f.out == "":
		return errors.New("--output: the name is empty")
	}
	if info, err := os.Stat(f.dir); err != nil {
		return fmt.Errorf("--dir: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("--dir %s: it is no folder", f.dir)
	}
	if _, err := ours(f.out, simpage.Mark); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	if err := replaceable(f.out); err != nil {
		return fmt.Errorf("--output %s: %w", f.out, err)
	}
	return nil
}

// flags returns the flags of the tests.
func (f *simFlags) flags(given func(string) bool) (out []string) {
	for name, value := range map[string]string{"seed": strconv.FormatUint(f.seed, 10), "pairs": strconv.Itoa(f.pairs), "budget": f.budget.String(), "replay": f.replay} {
		if given(name) {
			out = append(out, "-sim."+name+"="+value)
		}
	}
	return out
}

func (f *simFlags) execute(ctx context.Context, out, errOut io.Writer, given func(string) bool, args []string) error {
	if len(args) == 0 {
		args = []string{"./..."}
	}
	packages, err := simulate.Find(ctx, f.dir, args)
	switch {
	case err != nil:
		return err
	case len(packages) == 0:
		return fmt.Errorf("%s: no package has a simulation: none of their tests calls sim.Check of github.com/flyball-io/flyball/sim", strings.Join(args, " "))
	}
	if f.replay != "" && f.run == "" {
		if all := names(packages); len(all) != 1 {
			return fmt.Errorf("--replay: a plan is one of one check; say by --run of which: %s", strings.Join(all, ", "))
		}
	}
	line := newProgressLine(errOut)
	r, err := simulate.Run(ctx, packages, simulate.Options{Dir: f.dir, Match: f.run, Flags: f.flags(given), Progress: line.show})
	line.end()
	if ctx.Err() != nil {
		return errors.New("interrupted: no page is written")
	}
	if err != nil {
		return err
	}
	if len(r.Reports)+len(r.Failures) == 0 {
		if f.run != "" {
			return fmt.Errorf("no check has run: does --run %s match a test that calls sim.Check?", f.run)
		}
		return errors.New("no check has told what it did: does the project require a version of Flyball that has \"flyball sim\", and are the tests skipped?")
	}
	tell(out, r)
	if err := replace(f.out, func(w io.Writer) error { return simpage.Write(w, r, time.Now()) }); err != nil {
		return errors.Join(failedChecks(r), fmt.Errorf("the page cannot be written: %w", err))
	}
	fmt.Fprintln(out, "wrote", f.out)
	return failedChecks(r)
}

// names returns the tests of packages; for one whose tests are not known its path.
func names(packages []simulate.Package) (all []string) {
	for _, p := range packages {
		if len(p.Tests) == 0 {
			all = append(all, "the tests of "+p.Path)
		}
		all = append(all, p.Tests...)
	}
	return all
}

// tell prints a line for each check, and what is wrong.
func tell(out io.Writer, r *simulate.Result) {
	for _, x := range r.Reports {
		state := "passed"
		switch {
		case !x.Done:
			state = "did not end"
		case !x.OK():
			state = "failed"
		}
		did := fmt.Sprintf("%d of %d single faults, %d pairs, %d failed", x.SinglesTried, x.Singles, x.Pairs, x.Failed)
		if x.Replayed != "" {
			did = x.Replayed
		}
		fmt.Fprintf(out, "%s: %s %s: %s, %.1f s\n", state, x.Package, x.Test, did, x.Seconds)
		for _, p := range x.Problems {
			fmt.Fprintf(out, "  %s\n", indented(p))
		}
		for _, s := range x.Stories {
			tellStory(out, s)
		}
	}
	for _, f := range r.Failures {
		fmt.Fprintf(out, "failed: %s: %s\n", f.Package, f.What)
		if f.Output != "" {
			fmt.Fprintf(out, "  %s\n", indented(f.Output))
		}
	}
}

func tellStory(out io.Writer, s simreport.Story) {
	fmt.Fprintf(out, "  %s\n", s.Plan)
	for _, p := range s.Problems {
		fmt.Fprintf(out, "    %s\n", indented(indented(p)))
	}
}

func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// failedChecks returns an error if something failed.
func failedChecks(r *simulate.Result) error {
	bad := 0
	for _, x := range r.Reports {
		if !x.OK() {
			bad++
		}
	}
	switch {
	case bad > 0:
		return fmt.Errorf("%d of %s failed", bad, counted(len(r.Reports), "check"))
	case len(r.Failures) > 0:
		return fmt.Errorf("%s went wrong besides the checks", counted(len(r.Failures), "thing"))
	}
	return nil
}
