package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/cmd/flyball/internal/weigh"
	"github.com/flyball-io/flyball/ops/rbac"
	"github.com/flyball-io/flyball/scheme"
)

// weighFlags are the flags of "flyball weigh".
type weighFlags struct {
	where    client.ConfigOptions
	programs []string
	output   string
	what     weigh.Options
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

STRUCTS is an estimate. A sample of each kind, evenly spread, is decoded as client-go
does it: into the Go types of the built-in kinds, or as unstructured objects. The
memory of these is measured, and scaled by bytes. Maps and indexes of a cache are not
in it. PACKED is what the metric flyball_cache_held_bytes shows after a first list.

With --program, weigh the kinds that these roles let a program both list and watch. A
Role counts as if it were for all namespaces: --namespace names the one it is for.`,
		Example: `  flyball weigh
  flyball weigh --kinds pods,deployments.apps -o json
  flyball weigh --program config/rbac/role.yaml
  kubectl get clusterrole my-operator -o yaml | flyball weigh --program /dev/stdin`,
		Args: func(cmd *cobra.Command, args []string) error {
			return errors.Join(cobra.NoArgs(cmd, args), f.check())
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.where.Kubeconfig, "kubeconfig", "", "kubeconfig `FILE` of the cluster (default: $KUBECONFIG, then ~/.kube/config)")
	fs.StringVar(&f.where.Context, "context", "", "`NAME` of the context in it (default: its current one)")
	fs.StringSliceVar(&f.what.Kinds, "kinds", nil, "weigh only these `KINDS`, named as for kubectl get: pods, deploy, widgets.example.com (default: all)")
	fs.StringSliceVar(&f.programs, "program", nil, "weigh only what the ClusterRoles and Roles of this `FILE` or folder may list and watch; may be repeated")
	fs.StringVarP(&f.what.Namespace, "namespace", "n", "", "weigh only the objects of this `NAMESPACE`")
	fs.StringVarP(&f.output, "output", "o", "text", "`FORMAT`: text or json")
	complete(cmd, "output", "text", "json")
	complete(cmd, "kinds")
	complete(cmd, "namespace")
	return cmd
}

// check rejects what can only be a mistake.
func (f *weighFlags) check() error {
	if f.output != "text" && f.output != "json" {
		return fmt.Errorf("--output %q: there are text and json", f.output)
	}
	return nil
}

// gcPercent keeps the memory of this process small. Most of what it allocates is garbage at once.
const gcPercent = 75

func (f *weighFlags) run(ctx context.Context, out, errOut io.Writer) error {
	if len(f.programs) > 0 {
		rules, err := rbac.Granted(f.programs...)
		if err != nil {
			return fmt.Errorf("--program: %w", err)
		}
		f.what.Program = &rules
	}
	cfg, err := client.Config(f.where)
	if err != nil {
		return err
	}
	s := scheme.New()
	if err := apiextensionsv1.AddToScheme(s); err != nil {
		return err
	}
	debug.SetGCPercent(gcPercent)
	line := newProgressLine(errOut)
	f.what.Progress = line.show
	f.what.Problem = func(err error) {
		line.end()
		fmt.Fprintln(errOut, err)
	}
	r, err := weigh.Cluster(ctx, cfg, s, f.what)
	line.end()
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted: there are no figures")
	case err != nil:
		return err
	case f.output == "json":
		return r.JSON(out)
	}
	return r.Text(out)
}
