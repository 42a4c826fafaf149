package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/cmd/flyball/internal/scaffold"
	"github.com/flyball-io/flyball/internal/manifest"
)

// runFlags are the flags of "flyball run".
type runFlags struct {
	dir         string
	where       client.ConfigOptions
	webhookAddr string
	// memory starts a server, though there is a cluster.
	memory, allowBreaking bool
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [-- FLAGS OF THE PROGRAM]",
		Short: "Run a project's program on this machine",
		Long: `Build the project's program and run it on this machine, until Ctrl-C:

1. on the cluster of --kubeconfig, $KUBECONFIG or ~/.kube/config, as "flyball
   install" and kubectl find it. If there is none, or with --memory, it runs on an
   API server in memory that ends with it (see "flyball apiserver"). How to reach
   that with kubectl is printed.
2. The namespace and CRDs of the project are applied, as by "flyball install". In
   memory its webhooks are called, too, at --webhook-addr. A cluster mostly cannot
   reach this machine, so there its calls stay as they are, to the Service of what
   "flyball deploy" has brought.
3. The program runs with an administrator's rights; "make test" runs it with
   those of config/rbac.`,
		Example: `  flyball run
  flyball run -- --metrics-addr 127.0.0.1:8080 --probe-addr 127.0.0.1:8081
  flyball run --memory
  flyball run --context kind-dev -- --debug`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return unlessAsked(cmd.Context(), f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args))
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.dir, "dir", ".", "`DIR` of the project, or a folder in it")
	fs.StringVar(&f.where.Kubeconfig, "kubeconfig", "", "use the cluster of this `FILE` (default: $KUBECONFIG, then ~/.kube/config)")
	fs.StringVar(&f.where.Context, "context", "", "`NAME` of the context in it (default: its current one)")
	fs.StringVar(&f.webhookAddr, "webhook-addr", "127.0.0.1:9443", "`HOST:PORT` of the webhooks, in memory")
	fs.BoolVar(&f.memory, "memory", false, "run on an API server in memory, although there is a cluster")
	bindBreaking(cmd, &f.allowBreaking)
	cmd.MarkFlagsMutuallyExclusive("memory", "kubeconfig")
	cmd.MarkFlagsMutuallyExclusive("memory", "context")
	return cmd
}

// run executes the command.
func (f *runFlags) run(ctx context.Context, out, errOut io.Writer, args []string) (err error) {
	dir, p, err := scaffold.Open(f.dir)
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
	build.Dir, build.Stdout, build.Stderr = dir, errOut, errOut
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build ./cmd: %w", err)
	}
	memory, err := f.inMemory()
	if err != nil {
		return err
	}
	if memory {
		s, err := apiserver.New(ctx, apiserver.Options{Controllers: []string{"*"}, Progress: errOut})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		f.where.Kubeconfig = filepath.Join(tmp, "kubeconfig")
		if err := os.WriteFile(f.where.Kubeconfig, s.Kubeconfig(), 0o600); err != nil {
			return err
		}
		fmt.Fprintf(out, "export KUBECONFIG=%s\n", f.where.Kubeconfig)
	}
	cfg, err := client.Config(f.where)
	if err != nil {
		return err
	}
	fmt.Fprintln(errOut, "the cluster:", cfg.Host)
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	objs, err := rendered(dir, "", isRunWith)
	if err != nil {
		return err
	}
	flags := []string{"--kubeconfig", f.where.Kubeconfig, "--context", f.where.Context}
	switch {
	case !p.HasWebhooks():
	case memory:
		flags = append(flags, webhookFlags(f.webhookAddr, p.Name+"-system", objs)...)
		objs = manifest.ByURL(objs, "https://"+f.webhookAddr)
	default:
		fmt.Fprintln(errOut, "no webhook is called here: the cluster may not reach this machine; --memory runs on a server that does")
		objs = slices.DeleteFunc(objs, isAdmission)
	}
	if err := gate(ctx, c, objs, f.allowBreaking, errOut); err != nil {
		return err
	}
	if err := apply(ctx, c, objs, out); err != nil {
		return err
	}
	program := exec.CommandContext(ctx, binary, append(flags, args...)...)
	program.Stdout, program.Stderr = out, errOut
	apart(program)
	program.WaitDelay = time.Minute
	if err := program.Run(); err != nil {
		return fmt.Errorf("the program: %w", err)
	}
	return nil
}

// inMemory reports whether the command runs on a server of its own: there is no cluster where "flyball install" would
// find one, or it is asked for.
func (f *runFlags) inMemory() (bool, error) {
	if f.memory {
		return true, nil
	}
	_, err := client.Config(f.where)
	if f.where == (client.ConfigOptions{}) && errors.Is(err, rest.ErrNotInCluster) {
		return true, nil
	}
	return false, err
}

// isRunWith reports whether a program outside of the cluster needs an object.
func isRunWith(o manifest.Object) bool {
	return o.GetKind() == "Namespace" || manifest.IsCRD(o) || isAdmission(o)
}

func isAdmission(o manifest.Object) bool {
	return o.GetKind() == "MutatingWebhookConfiguration" || o.GetKind() == "ValidatingWebhookConfiguration"
}

func apply(ctx context.Context, c *client.Live, objs []manifest.Object, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return manifest.Apply(ctx, c, fieldOwner, objs, telling(out, "applied", new(int)))
}

// webhookFlags returns the flags for the address of the webhooks and the configurations that call
// them, like those of the Deployment.
func webhookFlags(addr, namespace string, objs []manifest.Object) []string {
	names := map[string][]string{}
	for _, o := range objs {
		if o.GetKind() == "Namespace" {
			namespace = o.GetName()
		}
		if isAdmission(o) {
			names[o.GetKind()] = append(names[o.GetKind()], o.GetName())
		}
	}
	// The program makes its certificate here, also where cert-manager does so in the cluster.
	flags := []string{"--webhook-addr", addr, "--webhook-namespace", namespace, "--webhook-cert-dir", ""}
	for _, x := range []struct{ flag, kind string }{{"--webhook-mutating", "MutatingWebhookConfiguration"}, {"--webhook-validating", "ValidatingWebhookConfiguration"}} {
		if len(names[x.kind]) > 0 {
			flags = append(flags, x.flag, strings.Join(names[x.kind], ","))
		}
	}
	return flags
}
