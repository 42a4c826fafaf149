package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/cmd/flyball/internal/kustomize"
	"github.com/flyball-io/flyball/cmd/flyball/internal/scaffold"
	"github.com/flyball-io/flyball/internal/manifest"
)

// fieldOwner is the field manager of applied objects.
const fieldOwner = "flyball"

// patience is the default timeout for a cluster. Servers are known to take minutes to delete the
// objects of a kind that has just been changed.
const patience = 5 * time.Minute

// clusterFlags are the flags of the commands that change a cluster.
type clusterFlags struct {
	dir     string
	where   client.ConfigOptions
	dryRun  bool
	timeout time.Duration
	image   string
	// allowBreaking applies CRDs with breaking changes.
	allowBreaking bool
}

func (f *clusterFlags) bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.dir, "dir", ".", "`DIR` of the project, or a folder in it")
	fs.StringVar(&f.where.Kubeconfig, "kubeconfig", "", "kubeconfig `FILE` of the cluster (default: $KUBECONFIG, then ~/.kube/config)")
	fs.StringVar(&f.where.Context, "context", "", "`NAME` of the context in it (default: its current one)")
	fs.BoolVar(&f.dryRun, "dry-run", false, "print the objects and change nothing")
	fs.DurationVar(&f.timeout, "timeout", patience, "`TIME` for all of it")
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
		Long: `Apply the CRDs of the project to a cluster, server-side, and wait until their
kinds are served. With --dry-run they are printed instead. They are those of
config/default, so "flyball install" after "flyball deploy" changes nothing.
A CRD that is being deleted is waited for, and made anew. Nothing is applied if
a change breaks clients or stored objects, as "flyball crd diff" tells, unless
--allow-breaking is given.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, manifest.IsCRD, false) },
	}
	f.bind(cmd)
	bindBreaking(cmd, &f.allowBreaking)
	return cmd
}

func newUninstall() *cobra.Command {
	var f clusterFlags
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Take the CRDs of a project out of a cluster, with all objects of their kinds",
		Long: `Delete the CRDs of the project from a cluster, and with them all objects of
their kinds, and wait until those are gone. Objects with finalizers go only
while the program that cares for these runs.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, manifest.IsCRD, true) },
	}
	f.bind(cmd)
	return cmd
}

// everything selects all objects of a project.
func everything(manifest.Object) bool { return true }

// rendered returns the wanted objects of a project's config/default, in the order of their creation. image is that
// of the program; empty: as it stands there.
func rendered(dir, image string, wanted func(manifest.Object) bool) ([]manifest.Object, error) {
	objs, err := kustomize.Build(filepath.Join(dir, "config", "default"))
	if err != nil {
		return nil, err
	}
	objs = slices.DeleteFunc(objs, func(o manifest.Object) bool { return !wanted(o) })
	if image != "" {
		if err := setImage(objs, image); err != nil {
			return nil, err
		}
	}
	return manifest.Sorted(objs), nil
}

// run applies or deletes the wanted objects of the project.
func (f *clusterFlags) run(cmd *cobra.Command, wanted func(manifest.Object) bool, deleting bool) error {
	dir, _, err := scaffold.Open(f.dir)
	if err != nil {
		return err
	}
	objs, err := rendered(dir, f.image, wanted)
	if err != nil {
		return err
	}
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
	done := 0
	if deleting {
		err = manifest.Delete(ctx, c, objs, telling(out, "deleted", &done))
	} else {
		if err := gate(ctx, c, objs, f.allowBreaking, cmd.ErrOrStderr()); err != nil {
			return err
		}
		err = manifest.Apply(ctx, c, fieldOwner, objs, telling(out, "applied", &done))
	}
	if err == nil && done == 0 {
		fmt.Fprintln(out, "nothing to do")
	}
	return err
}

// telling prints each change, and counts it. It prints what is waited for.
func telling(out io.Writer, what string, done *int) *manifest.Report {
	return &manifest.Report{
		Done: func(o manifest.Object) {
			*done++
			fmt.Fprintln(out, what, manifest.Name(o))
		},
		Waiting: func(o manifest.Object, why string) {
			fmt.Fprintf(out, "waiting for the end of %s: %s\n", manifest.Name(o), why)
		},
	}
}
