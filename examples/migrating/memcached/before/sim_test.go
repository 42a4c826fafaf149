package main

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/examples/migrating/memcached/api"
	"github.com/flyball-io/flyball/internal/leaktest"
	_ "github.com/flyball-io/flyball/internal/simpart"
	"github.com/flyball-io/flyball/sim"
)

func TestMain(m *testing.M) { leaktest.Main(apiserver.Wrap(m)) }

// The program of controller-runtime is right whatever goes wrong.
func TestSim(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	sim.Check(t, sim.Scenario{
		CRDs:    "../config/crd",
		Program: program,
		Steps: []sim.Step{
			sim.ApplyText(`{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: a}, spec: {size: 1}}`),
			sim.Patch("memcacheds.cache.example.com", "default/a", `{"spec":{"size":3}}`),
			sim.Delete("memcacheds.cache.example.com", "default/a"),
		},
	})
}

func program(ctx context.Context, cfg *rest.Config) error {
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme} {
		if err := add(types); err != nil {
			return err
		}
	}
	again := true // the program starts many times in one process
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{Scheme: types, Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &again}})
	if err != nil {
		return err
	}
	r := &reconciler{Client: mgr.GetClient(), scheme: mgr.GetScheme(), events: mgr.GetEventRecorder("memcached")}
	if err := r.setup(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
