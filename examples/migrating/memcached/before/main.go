// Command before runs memcached servers for each Memcached. It is written with controller-runtime.
package main

import (
	"flag"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/flyball-io/flyball"
	flyctrl "github.com/flyball-io/flyball/adapter/ctrl"
	"github.com/flyball-io/flyball/adapter/ctrlcache"
	"github.com/flyball-io/flyball/examples/migrating/memcached/api"
)

func main() {
	ctrl.SetLogger(zap.New())
	if err := run(); err != nil {
		ctrl.Log.Error(err, "memcached")
		os.Exit(1)
	}
}

func run() error {
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
	o := ctrl.Options{Scheme: types, Metrics: metricsserver.Options{BindAddress: "0"}}
	if *packed {
		o.NewCache = ctrlcache.New
	}
	var mgr ctrl.Manager
	if *moved {
		mgr, err = flyctrl.NewManager(cfg, flyball.Options{Name: "memcached", Scheme: types})
	} else {
		mgr, err = ctrl.NewManager(cfg, o)
	}
	if err != nil {
		return err
	}
	r := &reconciler{Client: mgr.GetClient(), scheme: mgr.GetScheme(), events: mgr.GetEventRecorder("memcached")}
	if err := r.setup(mgr); err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
