package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/cmd/flyball/internal/kustomize"
	"github.com/flyball-io/flyball/cmd/flyball/internal/scaffold"
	"github.com/flyball-io/flyball/manifest"
	"github.com/flyball-io/flyball/plane"
)

// runFlags are the flags of "flyball run".
type runFlags struct {
	dir         string
	where       client.ConfigOptions
	webhookAddr string
	webhooks    bool
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [-- FLAGS OF THE PROGRAM]",
		Short: "Run a project's program on this machine",
		Long: `Build the project's program and run it on this machine, until Ctrl-C:

1. on the cluster of --kubeconfig or $KUBECONFIG, or else on a control plane that
   is started for it and removed at the end (see "flyball controlplane"). How to
   reach that with kubectl is printed.
2. The namespace, CRDs and webhook configurations of the project are applied.
   Webhooks are called by URL, at --webhook-addr on this machine, so the API
   server must run here too: for a cluster elsewhere they are left out.
3. The program runs with an administrator's rights; "make test" runs it with
   those of config/rbac.`,
		Example: `  flyball run
  flyball run --kubeconfig ~/.kube/config -- --debug`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return unlessAsked(cmd.Context(), f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args))
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.dir, "dir", ".", "`DIR` of the project")
	fs.StringVar(&f.where.Kubeconfig, "kubeconfig", "", "use the cluster of this `FILE` (default: that of $KUBECONFIG, if it is set)")
	fs.StringVar(&f.where.Context, "context", "", "`NAME` of the context in it (default: its current one)")
	fs.StringVar(&f.webhookAddr, "webhook-addr", "127.0.0.1:9443", "`HOST:PORT` of the webhooks")
	fs.BoolVar(&f.webhooks, "webhooks", true, "have the API server call the webhooks, if it runs on this machine")
	return cmd
}

// run does what the command says.
func (f *runFlags) run(ctx context.Context, out, errOut io.Writer, args []string) (err error) {
	p, err := scaffold.Load(f.dir)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "flyball-run-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	binary := filepath.Join(tmp, p.Name)
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd")
	build.Dir, build.Stdout, build.Stderr = f.dir, errOut, errOut
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build ./cmd: %w", err)
	}
	if f.where.Kubeconfig == "" && os.Getenv("KUBECONFIG") == "" {
		pl, err := plane.Start(ctx, plane.Options{Progress: errOut})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, pl.Close()) }()
		f.where.Kubeconfig = pl.KubeconfigPath()
		fmt.Fprintf(out, "export KUBECONFIG=%s\n", f.where.Kubeconfig)
	}
	more, err := f.install(ctx, out, errOut, p)
	if err != nil {
		return err
	}
	all := slices.Concat([]string{"--kubeconfig", f.where.Kubeconfig, "--context", f.where.Context}, more, args)
	program := exec.CommandContext(ctx, binary, all...)
	program.Stdout, program.Stderr = out, errOut
	apart(program)
	program.WaitDelay = time.Minute
	if err := program.Run(); err != nil {
		return fmt.Errorf("the program: %w", err)
	}
	return nil
}

// install applies what the program needs, and returns the flags that it gets.
func (f *runFlags) install(ctx context.Context, out, errOut io.Writer, p *scaffold.Project) ([]string, error) {
	objs, err := kustomize.Build(filepath.Join(f.dir, "config", "default"))
	if err != nil {
		return nil, err
	}
	objs = slices.DeleteFunc(objs, func(o manifest.Object) bool {
		return !slices.Contains([]string{"Namespace", "CustomResourceDefinition", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}, o.GetKind())
	})
	cfg, err := client.Config(f.where)
	if err != nil {
		return nil, err
	}
	var flags []string
	switch {
	case p.HasWebhooks() && f.webhooks && onThisMachine(cfg.Host):
		objs = manifest.ByURL(objs, "https://"+f.webhookAddr)
		flags = []string{"--webhook-addr", f.webhookAddr, "--webhook-namespace", p.Name + "-system"}
	case p.HasWebhooks():
		fmt.Fprintln(errOut, "the webhooks are left out: the API server is not on this machine, or --webhooks=false")
		objs = manifest.WithoutCalls(objs)
	}
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return flags, manifest.Apply(ctx, c, fieldOwner, objs, telling(out))
}

// onThisMachine reports whether a server's address is one of loopback.
func onThisMachine(server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
