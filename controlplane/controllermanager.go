package main

import (
	"context"
	"path/filepath"

	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kcmoptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

// controllerManager is a kube-controller-manager with all of its
// usual controllers but the one that watches the nodes' heartbeats: there
// are no kubelets to fall silent, and a control plane that was paused for a
// while must not find all its nodes dead.
func controllerManager(f *files) component {
	return func(ctx context.Context) error {
		s, err := kcmoptions.NewKubeControllerManagerOptions()
		if err != nil {
			return err
		}
		known, disabled, aliases := app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()
		flags := s.Flags(known, disabled, aliases)
		args := []string{
			"--kubeconfig=" + f.kubeconfig,
			"--controllers=*,-node-lifecycle-controller",
			"--leader-elect=false",
			"--secure-port=0",
			"--service-account-private-key-file=" + f.accountKey,
			"--root-ca-file=" + f.caCert,
			"--cluster-signing-cert-file=" + f.caCert,
			"--cluster-signing-key-file=" + f.caKey,
			"--kube-api-qps=2000",
			"--kube-api-burst=4000",
			// Its default is a directory of the system, which it would make.
			"--flex-volume-plugin-dir=" + filepath.Join(f.dir, "volume-plugins"),
		}
		const shutdown = "controller-shutdown-timeout" // since 1.35
		if flags.FlagSet("generic").Lookup(shutdown) != nil {
			args = append(args, "--"+shutdown+"=1s")
		}
		if err := parse(flags, args); err != nil {
			return err
		}
		c, err := kcmConfig(ctx, s, known, disabled, aliases)
		if err != nil {
			return err
		}
		return app.Run(ctx, c.Complete())
	}
}
