package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/cmd/flyball/internal/scaffold"
	"github.com/flyball-io/flyball/internal/manifest"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/test/plane"
)

// runFlags are the flags of "flyball run".
type runFlags struct {
	dir         string
	where       client.ConfigOptions
	webhookAddr string
	webhooks    bool
	must        bool // fail if webhooks do not work
	// own starts a control plane, though there is a cluster.
	own, allowBreaking bool
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [-- FLAGS OF THE PROGRAM]",
		Short: "Run a project's program on this machine",
		Long: `Build the project's program and run it on this machine, until Ctrl-C:

1. on the cluster of --kubeconfig, $KUBECONFIG or ~/.kube/config, as "flyball
   install" and kubectl find it. If there is none, or with --controlplane, it
   runs on a control plane that is started for it and removed at the end (see
   "flyball controlplane"). How to reach that with kubectl is printed.
2. The namespace, CRDs and webhook configurations of the project are applied.
   Webhooks are called by URL, at --webhook-addr on this machine. Whether the API
   server reaches that is tried first, with a webhook that concerns nobody's
   objects. If it does not, as in kind or behind a tunnel, they are left out; give
   an address of this machine that it does reach. At the end a cluster that stays
   is left as "flyball install" would: no webhook is called here any more. Those
   of "flyball deploy" are called where they were. On such a cluster webhooks
   that do not answer are passed over (failurePolicy Ignore), and a process of its
   own leaves the cluster so, too, if this command is killed. If both are, or the
   machine is lost, "flyball install" puts the CRDs right.
3. The program runs with an administrator's rights; "make test" runs it with
   those of config/rbac.`,
		Example: `  flyball run
  flyball run -- --metrics-addr 127.0.0.1:8080 --probe-addr 127.0.0.1:8081
  flyball run --controlplane
  flyball run --context kind-dev -- --debug`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.must = f.webhooks && cmd.Flags().Changed("webhooks")
			return unlessAsked(cmd.Context(), f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args))
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.dir, "dir", ".", "`DIR` of the project, or a folder in it")
	fs.StringVar(&f.where.Kubeconfig, "kubeconfig", "", "use the cluster of this `FILE` (default: $KUBECONFIG, then ~/.kube/config)")
	fs.StringVar(&f.where.Context, "context", "", "`NAME` of the context in it (default: its current one)")
	fs.StringVar(&f.webhookAddr, "webhook-addr", "127.0.0.1:9443", "`HOST:PORT` of the webhooks")
	fs.BoolVar(&f.webhooks, "webhooks", true, "have the API server call the webhooks, if it reaches them; given as --webhooks, it is an error if it does not")
	fs.BoolVar(&f.own, "controlplane", false, "run on a control plane of its own, which is removed at the end")
	bindBreaking(cmd, &f.allowBreaking)
	cmd.MarkFlagsMutuallyExclusive("controlplane", "kubeconfig")
	cmd.MarkFlagsMutuallyExclusive("controlplane", "context")
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
	stays, err := f.stays()
	if err != nil {
		return err
	}
	if !stays {
		pl, err := plane.Start(ctx, plane.Options{Progress: errOut})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, pl.Close()) }()
		f.where.Kubeconfig = pl.KubeconfigPath()
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
	var g *guard
	if p.HasWebhooks() {
		var gone back
		if stays {
			back, err := callers(ctx, c, objs)
			if err != nil {
				return err
			}
			if g, err = startGuard(ctx, f.where, back, errOut); err != nil {
				return err
			}
			gone.Deleted = back.Deleted
			defer func() { err = errors.Join(err, back.put(ctx, c, out), g.close()) }()
		}
		called, err := f.called(ctx, c, errOut)
		switch {
		case err != nil:
			return err
		case called:
			flags = append(flags, webhookFlags(f.webhookAddr, p.Name+"-system", objs)...)
			objs = manifest.ByURL(objs, "https://"+f.webhookAddr)
		default:
			objs = manifest.WithoutCalls(objs)
			if err := gone.put(ctx, c, out); err != nil { // left by a run that was killed
				return err
			}
		}
		if called && stays {
			forgiving(objs)
		}
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
	if err := program.Start(); err != nil {
		return fmt.Errorf("the program: %w", err)
	}
	sent := g.send(guarded{Program: program.Process.Pid})
	if err := program.Wait(); err != nil {
		return errors.Join(fmt.Errorf("the program: %w", err), sent)
	}
	return sent
}

// stays reports whether the command runs on a cluster that is there already: where "flyball install" would find one.
func (f *runFlags) stays() (bool, error) {
	if f.own {
		return false, nil
	}
	_, err := client.Config(f.where)
	if f.where == (client.ConfigOptions{}) && errors.Is(err, rest.ErrNotInCluster) {
		return false, nil
	}
	return true, err
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

// back is the way to restore a cluster in which nothing may call this machine any more.
type back struct {
	Applied []manifest.Object `json:"applied,omitempty"`
	Deleted []manifest.Object `json:"deleted,omitempty"`
}

// callers reads the objects that will make the API server call this machine, before the program
// runs. CRDs are restored to config/default, and so are webhook configurations that called a
// Service. Others are deleted.
func callers(ctx context.Context, c *client.Live, objs []manifest.Object) (back, error) {
	var b back
	for _, o := range objs {
		switch {
		case manifest.IsCRD(o) && manifest.Converts(o):
			b.Applied = append(b.Applied, o)
		case isAdmission(o):
			now := &unstructured.Unstructured{}
			now.SetGroupVersionKind(o.GroupVersionKind())
			err := c.Get(ctx, object.KeyOf(o), now, client.GetOptions{})
			switch {
			case client.IgnoreNotFound(err) != nil:
				return b, err
			case err == nil && callsService(now):
				b.Applied = append(b.Applied, o)
			default:
				b.Deleted = append(b.Deleted, o)
			}
		}
	}
	return b, nil
}

func callsService(o manifest.Object) bool {
	hooks, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
	return slices.ContainsFunc(hooks, func(h any) bool {
		m, _ := h.(map[string]any)
		config, _ := m["clientConfig"].(map[string]any)
		return config["service"] != nil
	})
}

// put restores the cluster, also when ctx has ended.
func (b back) put(ctx context.Context, c *client.Live, out io.Writer) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(apply(ctx, c, b.Applied, out), manifest.Delete(ctx, c, b.Deleted, telling(out, "deleted", new(int))))
}

// called reports whether the API server will call the webhooks: they are wanted, and it reaches
// them.
func (f *runFlags) called(ctx context.Context, c *client.Live, errOut io.Writer) (bool, error) {
	if !f.webhooks {
		fmt.Fprintln(errOut, "the webhooks are left out, as --webhooks=false asks for")
		return false, nil
	}
	err := reach(ctx, c, f.webhookAddr)
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	}
	if _, ours := errors.AsType[*net.OpError](err); ours || f.must {
		return false, fmt.Errorf("webhooks at --webhook-addr %s: %w", f.webhookAddr, err)
	}
	fmt.Fprintf(errOut, "the webhooks are left out: the API server does not reach https://%s: %v; give an address of this machine that it reaches by --webhook-addr\n", f.webhookAddr, err)
	return false, nil
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

// forgiving makes the API server ignore webhooks that do not answer.
func forgiving(objs []manifest.Object) {
	for _, o := range objs {
		if !isAdmission(o) {
			continue
		}
		manifest.EachHook(o, func(hook map[string]any) { hook["failurePolicy"] = "Ignore" })
	}
}
