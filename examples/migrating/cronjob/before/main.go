// Command before makes Jobs for each CronJob. It is written with controller-runtime.
package main

import (
	"flag"
	"net"
	"os"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/flyball-io/flyball"
	flyctrl "github.com/flyball-io/flyball/adapter/ctrl"
	"github.com/flyball-io/flyball/adapter/ctrlcache"
	"github.com/flyball-io/flyball/examples/migrating/cronjob/api"
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
	packed := flag.Bool("packed-cache", false, "hold the cache packed, the first step of a move")
	moved := flag.Bool("flyball-manager", false, "run on a manager of Flyball, the second step")
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
	o := ctrl.Options{
		Scheme:        types,
		Metrics:       metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{Host: *host, Port: *port, CertDir: *certs}),
	}
	if *packed {
		o.NewCache = ctrlcache.New
	}
	var mgr ctrl.Manager
	if *moved {
		addr := net.JoinHostPort(*host, strconv.Itoa(*port))
		mgr, err = flyctrl.NewManager(cfg, flyball.Options{Name: "cronjob", Scheme: types, Webhooks: flyball.Webhooks{Addr: addr, CertDir: *certs}})
	} else {
		mgr, err = ctrl.NewManager(cfg, o)
	}
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
