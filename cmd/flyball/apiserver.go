package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/all"
	"github.com/flyball-io/flyball/test/apiserver"
	"github.com/flyball-io/flyball/test/plane"
)

// apiserverFlags are the flags of "flyball apiserver".
type apiserverFlags struct {
	kubeconfigOut string
	port          int
	crds          string
	controllers   []string
}

func newAPIServer() *cobra.Command {
	var f apiserverFlags
	cmd := &cobra.Command{
		Use:   "apiserver",
		Short: "Run an API server in memory on this machine",
		Long: `Run an API server in memory in the foreground. Defaults, validation, patches and
apply are those of Kubernetes; there is no etcd. Small controllers play those of
a cluster, its scheduler and its kubelets. No container ever runs. The state is
gone when the server stops. It speaks plain HTTP on the loopback address, and
everybody on this machine is its administrator.

When it is ready it prints one line on standard output:

    ready: http://127.0.0.1:PORT

It runs until SIGINT or SIGTERM, and removes the kubeconfig that it has written.

On first use the rules of Kubernetes are built, in 3 to 5 minutes on two cores;
afterwards it starts in less than a second. Set ` + plane.RulesEnv + `
to use a program built elsewhere.`,
		Example: `  flyball apiserver --kubeconfig-out /tmp/kubeconfig
  kubectl --kubeconfig /tmp/kubeconfig get namespaces

  # with the custom resources of a project
  flyball apiserver --crds config/crd

  # as a bare API server, and with all controllers but one
  flyball apiserver --controllers=
  flyball apiserver --controllers='*,-scheduler'`,
		Args: func(cmd *cobra.Command, args []string) error {
			plane := controlplaneFlags{port: f.port, kubeconfigOut: f.kubeconfigOut}
			_, unknown := control.Choose(all.Controllers, f.controllers)
			return errors.Join(cobra.NoArgs(cmd, args), plane.check(), unknown)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.kubeconfigOut, "kubeconfig-out", "", "write a kubeconfig to this `FILE` before the ready line")
	fs.IntVar(&f.port, "port", 0, "`PORT` on 127.0.0.1 (0 = any free one)")
	fs.StringVar(&f.crds, "crds", "", "define the custom resources of this `DIR` or file")
	fs.StringSliceVar(&f.controllers, "controllers", []string{"*"}, "run these controllers: `NAMES` with commas, * for all, -NAME for all but it")
	return cmd
}

// run runs the server until ctx ends.
func (f *apiserverFlags) run(ctx context.Context, out, errOut io.Writer) (err error) {
	s, err := apiserver.New(ctx, apiserver.Options{CRDs: f.crds, Port: f.port, Controllers: f.controllers, Progress: errOut})
	if err != nil {
		return unlessAsked(ctx, err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if f.kubeconfigOut != "" {
		if err := writeWhole(f.kubeconfigOut, s.Kubeconfig()); err != nil {
			return fmt.Errorf("kubeconfig: %w", err)
		}
		defer os.Remove(f.kubeconfigOut)
	}
	if _, err := fmt.Fprintln(out, "ready:", s.URL()); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
