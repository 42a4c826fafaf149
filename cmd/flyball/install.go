package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/cmd/flyball/internal/kustomize"
	"github.com/flyball-io/flyball/cmd/flyball/internal/scaffold"
	"github.com/flyball-io/flyball/manifest"
)

// fieldOwner owns what is applied.
const fieldOwner = "flyball"

// clusterFlags are the flags of the commands that change a cluster.
type clusterFlags struct {
	dir     string
	where   client.ConfigOptions
	dryRun  bool
	timeout time.Duration
	image   string
}

func (f *clusterFlags) bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.dir, "dir", ".", "`DIR` of the project")
	fs.StringVar(&f.where.Kubeconfig, "kubeconfig", "", "kubeconfig `FILE` of the cluster (default: $KUBECONFIG, then ~/.kube/config)")
	fs.StringVar(&f.where.Context, "context", "", "`NAME` of the context in it (default: its current one)")
	fs.BoolVar(&f.dryRun, "dry-run", false, "print the objects and change nothing")
	fs.DurationVar(&f.timeout, "timeout", time.Minute, "`TIME` for all of it")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if f.timeout <= 0 {
			return fmt.Errorf("--timeout %v: the time must be positive", f.timeout)
		}
		return cobra.NoArgs(cmd, args)
	}
}

func newInstall() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Put the CRDs of a project into a cluster",
		Long: `Apply the CRDs of the project (config/crd) to a cluster, server-side, and wait
until their kinds are served. With --dry-run they are printed instead.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, "config/crd", manifest.Apply) },
	}
	f.bind(cmd)
	return cmd
}

func newUninstall() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Take the CRDs of a project out of a cluster, with all objects of their kinds",
		Long: `Delete the CRDs of the project (config/crd) from a cluster, and with them all
objects of their kinds, and wait until those are gone. Objects with finalizers
go only while the program that cares for these runs.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, "config/crd", backwards) },
	}
	f.bind(cmd)
	return cmd
}

// backwards is manifest.Delete in the form of manifest.Apply.
func backwards(ctx context.Context, c *client.Live, _ string, objs []manifest.Object, h manifest.Hooks) error {
	return manifest.Delete(ctx, c, objs, h)
}

// run renders a kustomization of the project and does something with its objects.
func (f *clusterFlags) run(cmd *cobra.Command, folder string, do func(context.Context, *client.Live, string, []manifest.Object, manifest.Hooks) error) error {
	if _, err := scaffold.Load(f.dir); err != nil {
		return err
	}
	objs, err := kustomize.Build(filepath.Join(f.dir, filepath.FromSlash(folder)))
	if err != nil {
		return err
	}
	if f.image != "" {
		setImage(objs, f.image)
	}
	objs = manifest.Sorted(objs)
	out := cmd.OutOrStdout()
	if f.dryRun {
		return manifest.Write(out, objs)
	}
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), f.timeout, fmt.Errorf("not done within --timeout %v", f.timeout))
	defer cancel()
	c, err := client.Dial(ctx, f.where, client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	return unlessAsked(cmd.Context(), do(ctx, c, fieldOwner, objs, telling(out)))
}

// telling prints what is done.
func telling(out io.Writer) manifest.Hooks {
	return manifest.Hooks{
		Applied: func(o manifest.Object) { fmt.Fprintln(out, "applied", manifest.Name(o)) },
		Deleted: func(o manifest.Object) { fmt.Fprintln(out, "deleted", manifest.Name(o)) },
	}
}
