package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/all"
	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/test/plane"
)

// apiserverFlags are the flags of "flyball apiserver".
type apiserverFlags struct {
	kubeconfigOut string
	port          int
	crds          string
	latency       time.Duration
	state, from   string
	buildOnly     bool
	controllers   []string
	tls, rbac     bool
	featureGates  map[string]string
}

func newAPIServer() *cobra.Command {
	var f apiserverFlags
	cmd := &cobra.Command{
		Use:   "apiserver",
		Short: "Run an API server in memory on this machine",
		Long: `Run an API server in memory in the foreground. Defaults, validation, patches and
apply are those of Kubernetes; there is no etcd. Small controllers, a scheduler
and kubelets make Pods and take them to Running. No container ever runs.

It listens on the loopback address. By default it speaks plain HTTP, and everybody
on this machine is an administrator. With --tls it speaks HTTPS to users with a
certificate or a token. With --rbac these users may also do only what roles allow.
The kubeconfig of --kubeconfig-out is always that of an administrator.

--feature-gates ShardedListAndWatch=true makes lists, watches and deletions of
collections observe the parameter shardSelector, as the alpha gate of Kubernetes.

The state is gone when the server stops, unless --state names a file for it. That
is YAML, which can be read and edited. The server starts from the file, and saves
it when it stops, and every 30 seconds if something has changed. Of two servers with
one file the last to save wins. --from starts from such a file, and never writes it.

When the server is ready it prints one line on standard output (https with --tls
and --rbac):

    ready: http://127.0.0.1:PORT

It runs until SIGINT, SIGTERM or SIGHUP, and then removes the kubeconfig. A file
that exists is an error, unless a server that was killed left it.

On first use the rules of Kubernetes are built, in 3 to 5 minutes on two cores;
afterwards the server starts in less than a second. ` + plane.RulesEnv + `=FILE names
a program that is built already.`,
		Example: `  flyball apiserver --kubeconfig-out /tmp/kubeconfig
  kubectl --kubeconfig /tmp/kubeconfig get namespaces

  # with the custom resources of a project
  flyball apiserver --crds config/crd

  # with roles, asked as another user
  flyball apiserver --rbac --kubeconfig-out /tmp/kubeconfig
  kubectl --kubeconfig /tmp/kubeconfig auth can-i list pods --as eve

  # keep the state, and start from it the next time
  flyball apiserver --state cluster.yaml

  # without controllers; with all but one
  flyball apiserver --controllers=
  flyball apiserver --controllers='*,-scheduler'`,
		Args: func(cmd *cobra.Command, args []string) error {
			plane := controlplaneFlags{port: f.port, kubeconfigOut: f.kubeconfigOut}
			_, unknown := control.Choose(all.Controllers, f.controllers)
			if unknown != nil {
				unknown = fmt.Errorf("--controllers: %w", unknown)
			}
			_, closed := f.gates()
			exists, unusable := stateFile(f.state).check()
			var early error
			if f.latency < 0 {
				early = fmt.Errorf("--latency: %v is negative", f.latency)
			}
			return errors.Join(cobra.NoArgs(cmd, args), plane.check(), unknown, closed, unusable, early, f.missing(exists))
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.kubeconfigOut, "kubeconfig-out", "", "write a kubeconfig to this `FILE` before the ready line")
	fs.IntVar(&f.port, "port", 0, "`PORT` on 127.0.0.1 (0 = any free one)")
	fs.StringVar(&f.crds, "crds", "", "create the custom resource definitions in this `DIR` or file")
	fs.BoolVar(&f.buildOnly, "build-only", false, "only build the rules of Kubernetes, if that is not done yet and "+plane.RulesEnv+" names none")
	fs.StringVar(&f.state, "state", "", "start from the state in this `FILE`, if it exists, and save the state there")
	fs.StringVar(&f.from, "from", "", "start from the state in this `FILE`, unless that of --state exists")
	fs.StringSliceVar(&f.controllers, "controllers", []string{"*"}, "run these controllers: `NAMES` separated by commas; * is all, -NAME leaves one out")
	fs.BoolVar(&f.tls, "tls", false, "serve HTTPS and HTTP/2, to clients with a certificate or a token")
	fs.BoolVar(&f.rbac, "rbac", false, "let users do only what their roles allow, as a real server does; implies --tls")
	fs.DurationVar(&f.latency, "latency", 0, "let each answer wait for this `TIME` after its effect, as those of a real server do, such as 5ms")
	fs.StringToStringVar(&f.featureGates, "feature-gates", nil, "turn on features of Kubernetes by `NAME=true`: ShardedListAndWatch")
	return cmd
}

// missing returns an error for files to start with that do not exist. exists says that --state has one, so that --from
// does not matter.
func (f *apiserverFlags) missing(exists bool) error {
	var errs []error
	if found, _ := filepath.Glob(f.crds); f.crds != "" && len(found) == 0 {
		if _, err := os.Stat(f.crds); err != nil {
			errs = append(errs, fmt.Errorf("--crds %s: %w", f.crds, err))
		}
	}
	if f.from != "" && !exists {
		info, err := os.Stat(f.from)
		if err == nil && info.IsDir() {
			err = errFolder
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("--from %s: %w", f.from, err))
		}
	}
	return errors.Join(errs...)
}

// gates returns the feature gates of the flag.
func (f *apiserverFlags) gates() (map[string]bool, error) {
	gates := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(f.featureGates)) {
		on, err := strconv.ParseBool(f.featureGates[name])
		if err != nil {
			return nil, fmt.Errorf("--feature-gates: %s=%s: the value must be true or false", name, f.featureGates[name])
		}
		gates[name] = on
	}
	if _, err := core.ParseGates(gates); err != nil {
		return nil, fmt.Errorf("--feature-gates: %w", err)
	}
	return gates, nil
}

// run runs the server until ctx ends.
func (f *apiserverFlags) run(ctx context.Context, out, errOut io.Writer) (err error) {
	if f.buildOnly {
		if os.Getenv(plane.RulesEnv) != "" {
			return nil // New reports if it does not exist
		}
		_, err := plane.BuildRules(ctx, errOut)
		return err
	}
	ctx, restore := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer restore()
	begin := f.from
	keep := stateFile(f.state)
	kubeconfig := kubeconfigFile(f.kubeconfigOut)
	if exists, err := keep.check(); err != nil {
		return err
	} else if exists {
		begin = f.state
	}
	gates, err := f.gates()
	if err != nil {
		return err
	}
	s, err := apiserver.New(ctx, apiserver.Options{CRDs: f.crds, Port: f.port, State: begin, Controllers: f.controllers, TLS: f.tls, RBAC: f.rbac, FeatureGates: gates, Latency: f.latency, Progress: errOut})
	if err != nil {
		return unlessAsked(ctx, err)
	}
	defer func() {
		err = errors.Join(err, s.Close())
		if keep != "" {
			err = errors.Join(err, keep.save(s.Export))
		}
	}()
	if err := kubeconfig.write(s.Kubeconfig()); err != nil {
		return err
	}
	defer kubeconfig.remove(s.Kubeconfig(), errOut)
	if _, err := fmt.Fprintln(out, "ready:", s.URL()); err != nil {
		return err
	}
	keep.whileRunning(ctx, s, errOut)
	return nil
}
