package main

import (
	"context"
	"flag"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/leaktest"
	_ "github.com/flyball-io/flyball/internal/simpart"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/sim"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	if tier.InAudit() { // few pairs, unless the command line has more: resyncs take long
		if err := flag.Set("sim.pairs", "20"); err != nil {
			panic(err)
		}
	}
	leaktest.Main(apiserver.Wrap(m))
}

// The program of client-go is right whatever goes wrong.
func TestSim(t *testing.T) {
	sim.Check(t, sim.Scenario{
		CRDs:    "../config/crd",
		Program: func(ctx context.Context, cfg *rest.Config) error { return run(ctx, cfg, false) },
		Steps: []sim.Step{
			sim.ApplyText(`{apiVersion: samples.example.com/v1alpha1, kind: Foo, metadata: {name: a}, spec: {deploymentName: b, replicas: 1}}`),
			sim.Patch("deployments.apps/status", "default/b", `{"status":{"replicas":1,"readyReplicas":1,"availableReplicas":1}}`),
			sim.Patch("foos.samples.example.com", "default/a", `{"spec":{"replicas":3}}`),
			sim.Patch("deployments.apps", "default/b", `{"spec":{"replicas":2}}`), // which is not theirs to say
			sim.Delete("deployments.apps", "default/b"),
			sim.Delete("foos.samples.example.com", "default/a"),
		},
	})
}
