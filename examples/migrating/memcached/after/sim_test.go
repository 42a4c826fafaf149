package main

import (
	"context"
	"log/slog"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/examples/migrating/memcached/api"
	"github.com/flyball-io/flyball/internal/leaktest"
	_ "github.com/flyball-io/flyball/internal/simpart"
	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/sim"
)

func TestMain(m *testing.M) { leaktest.Main(apiserver.Wrap(m)) }

// The program is right whatever goes wrong.
func TestSim(t *testing.T) {
	sim.Check(t, sim.Scenario{
		CRDs:    "../config/crd",
		Program: program,
		Steps: []sim.Step{
			sim.ApplyText(`{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: a}, spec: {size: 1}}`),
			sim.Patch("memcacheds.cache.example.com", "default/a", `{"spec":{"size":3}}`),
			sim.Delete("memcacheds.cache.example.com", "default/a"),
		},
		Corrects: []string{"deployments.apps"},
	})
}

func program(ctx context.Context, cfg *rest.Config) error {
	o := flyball.Options{Name: "memcached", Config: cfg, Scheme: scheme.New(), Logger: slog.New(slog.DiscardHandler)}
	if err := api.AddToScheme(o.Scheme); err != nil {
		return err
	}
	mgr, err := flyball.New(o)
	if err != nil {
		return err
	}
	r := &reconciler{client: mgr.Client(), events: mgr.Events()}
	if err := r.setup(mgr); err != nil {
		return err
	}
	return mgr.Run(ctx)
}
