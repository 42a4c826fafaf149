package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/flyball-io/flyball/cmd/flyball/internal/adopt"
)

// adoptFlags are the flags of "flyball adopt".
type adoptFlags struct {
	adopt.Options
	cache, plan bool
	output      string
}

func newAdopt() *cobra.Command {
	var f adoptFlags
	cmd := &cobra.Command{
		Use:   "adopt --cache | --plan | --undo",
		Short: "Bring an operator of controller-runtime to Flyball, by one line or step by step",
		Long: `Bring an operator of controller-runtime to Flyball: a project of kubebuilder (layouts
v3 and v4), or any other Go module.

With --cache its manager gets the packed cache. That is one line in main.go,

    NewCache: ctrlcache.New,

its import, and the module in go.mod. Controllers, clients, webhooks and tests stay
as they are. The project is built and tested as it is and with the change, in a
copy outside of any workspace. The change is shown, and written only if each package,
test, subtest and spec of Ginkgo that passed before passes with it: one that is skipped
or does not run any more counts as broken. An error or Ctrl-C leaves the project
untouched.

Tests with envtest need a control plane: that of $KUBEBUILDER_ASSETS, or one in
bin/k8s ("make setup-envtest"), or Flyball's own with --controlplane. Packages of
end-to-end tests (e2e) are not run.

Versions in go.mod that are below what the packed cache needs are raised: the Go
version, controller-runtime, the Kubernetes libraries, and what these require. Each
is named before the work begins and at its end, on a line of its own; --undo leaves
them so. Where controller-runtime or the Kubernetes libraries rise, the project is
also built with them alone, so that an error is theirs or the packed cache's. A replace
directive that holds one of them at an earlier version of a fork stands against it: the
error names its line.

Where NewCache is set already, to cache.New or to a function of the same file that
calls it, ctrlcache.New takes its place there. For other functions the error names
the line.

With --plan, print what each controller is in Flyball's API: its watches,
predicates, finalizers, status, events and permissions. It writes nothing.

With --undo, remove the line and the module again.

go.mod requires the version of Flyball that this program is, or that of --version.
If the program was built in a checkout, or --flyball-dir names one, go.mod points
at that.`,
		Example: `  flyball adopt --cache --dry-run
  flyball adopt --cache
  flyball adopt --plan
  flyball adopt --plan -o json | jq '.controllers[].name'
  flyball adopt --undo`,
		Args: func(cmd *cobra.Command, args []string) error {
			return errors.Join(cobra.NoArgs(cmd, args), f.check(cmd.Flags().Changed))
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.plan {
				return f.printPlan(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			return f.change(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&f.cache, "cache", false, "give the manager the packed cache")
	fs.BoolVar(&f.plan, "plan", false, "print what a move to Flyball's API means, and change nothing")
	fs.BoolVar(&f.Undo, "undo", false, "take the packed cache out again")
	fs.StringVar(&f.Dir, "dir", ".", "`DIR` of the project, or a folder in it")
	fs.StringVar(&f.Main, "main", "", "`FILE` that makes the manager, or folder of the program, relative to the project (default: cmd/main.go, main.go, or the only file by which a program does)")
	fs.BoolVar(&f.DryRun, "dry-run", false, "show the change; write nothing, build nothing, test nothing")
	fs.BoolVar(&f.SkipTests, "skip-tests", false, "build, and run no tests")
	fs.BoolVar(&f.ControlPlane, "controlplane", false, "run the tests on a control plane of Flyball's own instead of envtest's")
	fs.BoolVar(&f.Force, "force", false, "go on although Git has changes that are not committed")
	fs.StringVar(&f.Version, "version", "", "published `VERSION` of Flyball, or latest (default: that of this program)")
	fs.StringVar(&f.FlyballDir, "flyball-dir", "", "`DIR` of a checkout of Flyball to use, in place of a published version")
	fs.StringVarP(&f.output, "output", "o", "text", "`FORMAT` of the plan: text or json")
	complete(cmd, "output", "text", "json")
	complete(cmd, "version")
	return cmd
}

// check rejects what can only be a mistake.
func (f *adoptFlags) check(given func(string) bool) error {
	modes := 0
	for _, on := range []bool{f.cache, f.plan, f.Undo} {
		if on {
			modes++
		}
	}
	switch {
	case modes != 1:
		return errors.New("say what to do, and one thing only: --cache, --plan or --undo")
	case f.output != "text" && f.output != "json":
		return fmt.Errorf("--output %q: there are text and json", f.output)
	case given("output") && !f.plan:
		return errors.New("--output is the format of --plan")
	case f.Version != "" && f.FlyballDir != "":
		return errors.New("--version takes a published module, --flyball-dir a checkout: give one of them")
	case f.SkipTests && f.ControlPlane:
		return errors.New("--controlplane is for the tests that --skip-tests leaves out")
	}
	return nil
}

// change makes the change of --cache or --undo.
func (f *adoptFlags) change(ctx context.Context, out, errOut io.Writer) error {
	f.Diff, f.Progress = out, errOut
	r, err := adopt.Cache(ctx, f.Options)
	if e, ok := errors.AsType[*adopt.SetError](err); ok && e.Packed {
		fmt.Fprintln(out, e)
		return nil
	}
	if err != nil {
		return fmt.Errorf("nothing changed: %w", err)
	}
	verb := "raised"
	if f.DryRun {
		verb = "would raise"
	}
	for _, l := range r.Lifts {
		if fmt.Fprintln(out, verb, l); l.What == "go" {
			fmt.Fprintf(out, "note: your CI and images need Go %s now\n", l.To)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintln(out, "note:", n)
	}
	for _, name := range r.Files {
		if f.DryRun {
			fmt.Fprintln(out, "would write", name)
		} else {
			fmt.Fprintln(out, "wrote", name)
		}
	}
	if !f.DryRun && !f.Undo {
		fmt.Fprintln(out, `The metric flyball_cache_held_bytes, beside the operator's own, is what its objects take now. "flyball adopt --undo" takes the change back.`)
	}
	return nil
}

func (f *adoptFlags) printPlan(ctx context.Context, out, errOut io.Writer) error {
	p, err := adopt.MakePlan(ctx, f.Dir, f.Main, errOut)
	if err != nil {
		return err
	}
	if f.output == "json" {
		return p.JSON(out)
	}
	return p.Text(out)
}
