// Command before makes Jobs for each CronJob. It is written with controller-runtime.
package main

import (
	"flag"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/flyball-io/flyball/adapter/samples/cronjob/api"
)

func main() {
	ctrl.SetLogger(zap.New())
	if err := run(); err != nil {
		ctrl.Log.Error(err, "cronjob")
		os.Exit(1)
	}
}

func run() error {
	host := flag.String("webhook-host", "", "address of the webhooks")
	port := flag.Int("webhook-port", 9443, "port of the webhooks")
	certs := flag.String("webhook-cert-dir", "", "folder with their certificate")
	flag.Parse()
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme} {
		if err := add(types); err != nil {
			return err
		}
	}
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:        types,
		Metrics:       metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{Host: *host, Port: *port, CertDir: *certs}),
	})
	if err != nil {
		return err
	}
	r := &reconciler{Client: mgr.GetClient(), scheme: mgr.GetScheme()}
	if err := r.setup(mgr); err != nil {
		return err
	}
	if err := setupWebhooks(mgr); err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
