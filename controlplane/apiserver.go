package main

import (
	"context"
	"net"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	apioptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"github.com/spf13/pflag"
)

const (
	serviceCIDR    = "10.0.0.0/16"
	kubernetesIP   = "10.0.0.1"
	podCIDR        = "10.64.0.0/10"
	serviceAccount = "https://kubernetes.default.svc.cluster.local"
)

// apiServer is a kube-apiserver that serves ln. It sets up what the
// components share: feature gates and logging.
func apiServer(f *files, ln net.Listener, o options) component {
	return func(ctx context.Context) error {
		noAdmission := "TaintNodesByCondition" // its taint would wait for a controller that does not run here
		if o.bare {
			noAdmission = "ServiceAccount" // nobody makes the accounts
		}
		if err := streamLists(); err != nil {
			return err
		}
		s := apioptions.NewServerRunOptions()
		args := []string{
			"--advertise-address=127.0.0.1",
			"--external-hostname=127.0.0.1",
			"--tls-cert-file=" + f.serverCert,
			"--tls-private-key-file=" + f.serverKey,
			"--client-ca-file=" + f.caCert,
			"--authorization-mode=RBAC",
			"--allow-privileged",
			"--etcd-servers=" + etcdSocket,
			"--endpoint-reconciler-type=none",
			"--service-cluster-ip-range=" + serviceCIDR,
			"--service-account-issuer=" + serviceAccount,
			"--service-account-key-file=" + f.accountPub,
			"--service-account-signing-key-file=" + f.accountKey,
			"--disable-admission-plugins=" + noAdmission,
			"--delete-collection-workers=8",
			"--shutdown-delay-duration=0",
		}
		if o.featureGates != "" {
			args = append(args, "--feature-gates="+o.featureGates)
		}
		if err := parse(s.Flags(), args); err != nil {
			return err
		}
		s.SecureServing.Listener = ln
		s.SecureServing.BindAddress = net.IPv4(127, 0, 0, 1)
		s.SecureServing.BindPort = ln.Addr().(*net.TCPAddr).Port

		if err := s.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
			return err
		}
		if err := logsapi.ValidateAndApply(s.Logs, utilfeature.DefaultFeatureGate); err != nil {
			return err
		}
		rest.SetDefaultWarningHandler(rest.NoWarnings{})
		completed, err := complete(ctx, s)
		if err != nil {
			return err
		}
		if errs := completed.Validate(); len(errs) > 0 {
			return utilerrors.NewAggregate(errs)
		}
		return app.Run(ctx, completed)
	}
}

// parse applies args to the flags of a component as its command would.
func parse(sets cliflag.NamedFlagSets, args []string) error {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, fs := range sets.FlagSets {
		all.AddFlagSet(fs)
	}
	return all.Parse(args)
}
