package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/flyball-io/flyball/test/plane"
)

// controlplaneFlags are the flags of "flyball controlplane".
type controlplaneFlags struct {
	kubeconfigOut string
	port          int
	dataDir       string
	nodes         int
	buildOnly     bool
	verbose       bool
}

func newControlplane() *cobra.Command {
	var f controlplaneFlags
	cmd := &cobra.Command{
		Use:   "controlplane",
		Short: "Run a Kubernetes control plane on this machine",
		Long: `Run a real Kubernetes control plane in the foreground: etcd, API server,
controller manager and scheduler, and kwok in place of the kubelets. Pods are
scheduled and become Running, but no container ever runs. It needs no root
rights and no containers, and listens on the loopback address only.

When it is ready it prints one line on standard output:

    ready: https://127.0.0.1:PORT

It runs until SIGINT or SIGTERM, then stops within five seconds and removes
what it made: the data directory unless --data-dir names it and, with it, the
kubeconfig, which would lead nowhere. A file of --kubeconfig-out that exists is
an error, unless a control plane of this command left it.

On first use the program is built, in 5 to 9 minutes on two cores; afterwards
it starts in seconds. Set ` + plane.BinaryEnv + ` to use a program built elsewhere,
or ` + plane.KubernetesEnv + ` to a version such as 1.34 or 1.34.4 for another Kubernetes.`,
		Example: `  flyball controlplane --kubeconfig-out /tmp/kubeconfig
  kubectl --kubeconfig /tmp/kubeconfig get nodes

  # a cluster that is still there tomorrow, under the same address
  flyball controlplane --data-dir ~/mycluster --port 6443`,
		Args: func(cmd *cobra.Command, args []string) error {
			return errors.Join(cobra.NoArgs(cmd, args), f.check())
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.kubeconfigOut, "kubeconfig-out", "", "write an administrator's kubeconfig to this `FILE` before the ready line")
	fs.IntVar(&f.port, "port", 0, "`PORT` of the API server on 127.0.0.1 (0 = the data directory's last one, else any free one)")
	fs.StringVar(&f.dataDir, "data-dir", "", "keep all state in this `DIR` and go on from there (default: temporary, removed at the end)")
	fs.IntVar(&f.nodes, "nodes", 1, "`number` of nodes, each with room for a million Pods")
	fs.BoolVar(&f.buildOnly, "build-only", false, "only build the control plane program, if that is not done yet and "+plane.BinaryEnv+" names none")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "print the control plane's logs on standard error")
	return cmd
}

// check rejects values that can only be mistakes.
func (f *controlplaneFlags) check() error {
	if f.port < 0 || f.port > 65535 {
		return fmt.Errorf("--port %d: a port is a number from 0 to 65535", f.port)
	}
	if f.nodes < 0 {
		return fmt.Errorf("--nodes %d: the number of nodes must not be negative", f.nodes)
	}
	return kubeconfigFile(f.kubeconfigOut).check() // else it would show after the build
}

// run runs the control plane until ctx ends.
func (f *controlplaneFlags) run(ctx context.Context, out, errOut io.Writer) (err error) {
	if f.buildOnly {
		if os.Getenv(plane.BinaryEnv) != "" {
			return nil // Start reports if it does not exist
		}
		_, err := plane.Build(ctx, errOut)
		return err
	}
	kubeconfig := kubeconfigFile(f.kubeconfigOut)
	opts := plane.Options{DataDir: f.dataDir, Port: f.port, Nodes: f.nodes, Progress: errOut}
	if f.nodes == 0 {
		opts.Nodes = -1
	}
	if f.verbose {
		opts.Log = errOut
	}
	p, err := plane.Start(ctx, opts)
	if err != nil {
		return unlessAsked(ctx, err)
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	text, err := os.ReadFile(p.KubeconfigPath())
	if err == nil {
		err = kubeconfig.write(text)
	}
	if err != nil {
		return err
	}
	if f.dataDir == "" {
		defer kubeconfig.remove(text, errOut)
	}
	if _, err := fmt.Fprintln(out, "ready:", p.URL()); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-p.Done():
		return unlessAsked(ctx, p.Err())
	}
}

// unlessAsked drops an error that is caused by the request to stop.
func unlessAsked(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
