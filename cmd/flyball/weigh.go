package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/cmd/flyball/internal/weigh"
	"github.com/flyball-io/flyball/scheme"
)

// weighFlags are the flags of "flyball weigh".
type weighFlags struct {
	where    client.ConfigOptions
	programs []string
	output   string
	what     weigh.Selection
}

func newWeigh() *cobra.Command {
	var f weighFlags
	cmd := &cobra.Command{
		Use:   "weigh",
		Short: "Tell what the packed cache would save in a cluster",
		Long: `List the objects of a cluster, page by page and one request at a time, pack them
as Flyball's cache does, and print for each kind what that takes, beside what the
Go structs of client-go take. It only reads, and needs no more than list. What it
may not list it names and leaves out.

    OBJECTS   their number
    WIRE      bytes that the server sends for them, before compression
    MANAGED   the part of WIRE that is managedFields
    STRUCTS   what client-go's caches hold: the objects as Go structs, with
              managedFields, which they keep unless a transform cuts them
    PACKED    what Flyball's cache holds: the objects packed, without managedFields,
              which it cuts unless KeepManagedFields is set

With "-o wide" also:

    STRUCTS-MF   the structs without managedFields
    PACKED+MF    packed with managedFields
    SAMPLED      objects that were decoded to estimate STRUCTS

STRUCTS is an estimate. A sample of each kind, evenly spread, is decoded as client-go
does it: into the Go types of the built-in kinds, or as unstructured objects. The
memory of these is measured, and scaled by bytes. Maps and indexes of a cache are not
in it. PACKED is what the metric flyball_cache_held_bytes shows after a first list.

With --program, weigh what these roles let a program both list and watch.`,
		Example: `  flyball weigh
  flyball weigh --kinds pods,deployments.apps -o wide
  flyball weigh --program config/rbac/role.yaml
  kubectl get clusterrole my-operator -o yaml | flyball weigh --program -`,
		Args: func(cmd *cobra.Command, args []string) error {
			return errors.Join(cobra.NoArgs(cmd, args), f.check())
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.where.Kubeconfig, "kubeconfig", "", "kubeconfig `FILE` of the cluster (default: $KUBECONFIG, then ~/.kube/config)")
	fs.StringVar(&f.where.Context, "context", "", "`NAME` of the context in it (default: its current one)")
	fs.StringSliceVar(&f.what.Kinds, "kinds", nil, "weigh only these `KINDS`, named as for kubectl get: pods, deploy, widgets.example.com (default: all)")
	fs.StringSliceVar(&f.programs, "program", nil, "weigh only what the ClusterRoles and Roles of this `FILE` may list and watch; - is standard input; may be repeated")
	fs.StringVarP(&f.what.Namespace, "namespace", "n", "", "weigh only the objects of this `NAMESPACE`; of a Role without one it is the namespace")
	fs.StringVarP(&f.output, "output", "o", "text", "`FORMAT`: text, wide or json")
	complete(cmd, "output", "text", "wide", "json")
	complete(cmd, "kinds")
	complete(cmd, "namespace")
	return cmd
}

// check rejects what can only be a mistake.
func (f *weighFlags) check() error {
	switch {
	case f.output != "text" && f.output != "wide" && f.output != "json":
		return fmt.Errorf("--output %q: there are text, wide and json", f.output)
	}
	return nil
}

// gcPercent keeps the memory of this process small. Most of what it allocates is garbage at once.
const gcPercent = 75

func (f *weighFlags) run(ctx context.Context, in io.Reader, out, errOut io.Writer) error {
	o := weigh.Options{Selection: f.what}
	for _, file := range f.programs {
		text, err := contents(file, in)
		if err != nil {
			return fmt.Errorf("--program: %w", err)
		}
		p, err := weigh.ParseProgram(text, f.what.Namespace)
		if err != nil {
			return fmt.Errorf("--program %s: %w", file, err)
		}
		o.Program = o.Program.With(p)
	}
	s := scheme.New()
	if err := apiextensionsv1.AddToScheme(s); err != nil {
		return err
	}
	debug.SetGCPercent(gcPercent)
	show := newProgress(errOut)
	o.Progress, o.Problem = show.step, show.problem
	cfg, err := client.Config(f.where)
	if err != nil {
		return err
	}
	r, err := weigh.Cluster(ctx, cfg, s, o)
	show.end()
	switch {
	case ctx.Err() != nil:
		return show.interrupted()
	case r == nil:
		return err
	case f.output == "json":
		return errors.Join(r.JSON(out), err)
	}
	return errors.Join(r.Text(out, f.output == "wide"), err)
}

// contents returns what a file has, or the standard input for "-".
func contents(file string, in io.Reader) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(file)
}

// weighProgress shows how far a weighing is.
type weighProgress struct {
	progressLine
	kind string
}

func newProgress(out io.Writer) *weighProgress {
	return &weighProgress{progressLine: newProgressLine(out)}
}

func (p *weighProgress) step(now weigh.Progress) {
	p.kind = now.Kind
	p.show(now, now.Wait)
}

func (p *weighProgress) problem(err error) {
	p.end()
	fmt.Fprintln(p.out, err)
}

// interrupted returns the error for a weighing that a signal ended.
func (p *weighProgress) interrupted() error {
	if p.kind == "" {
		return errors.New("interrupted before anything was weighed")
	}
	return fmt.Errorf("interrupted while weighing %s: there are no figures", p.kind)
}
