package sim_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/examples/podscaler/scaler"
	"github.com/flyball-io/flyball/sim"
)

// program returns a program that is a manager with controllers. Options change its options.
func program(add func(*flyball.Manager) error, options ...func(*flyball.Options)) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, cfg *rest.Config) error {
		o := flyball.Options{Name: "sim", Config: cfg, Logger: slog.New(slog.DiscardHandler)}
		for _, change := range options {
			if change != nil {
				change(&o)
			}
		}
		m, err := flyball.New(o)
		if err != nil {
			return err
		}
		if err := add(m); err != nil {
			return err
		}
		return m.Run(ctx)
	}
}

func pod(name, app string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %q, namespace: default, labels: {app: %q}}, spec: {containers: [{name: c, image: i}]}}\n---\n", name, app)
}

// Podscaler is right whatever goes wrong.
func TestPodscaler(t *testing.T) { sim.Check(t, podscaler()) }

func podscaler() sim.Scenario {
	if sim.Small {
		return podscalerOf(3, 2)
	}
	return podscalerOf(8, 5)
}

// podscalerOf returns a scenario with n objects in its first step, n-2 in a later one, and deletions of some.
func podscalerOf(n, deleted int) sim.Scenario {
	var first, more string
	for i := range n {
		first += pod(fmt.Sprintf("q%d", i), "queue")
	}
	for i := range n - 2 {
		more += pod(fmt.Sprintf("p%d", i), "queue")
	}
	var gone []sim.Step
	for i := range deleted {
		gone = append(gone, sim.Delete("pods", fmt.Sprintf("default/q%d", i)))
	}
	return sim.Scenario{
		Program: program(func(m *flyball.Manager) error { return scaler.Add(m, 0, controller.Options{}) }),
		Steps: []sim.Step{
			sim.ApplyText(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {podscaler.flyball.dev/selector: app=queue, podscaler.flyball.dev/pods-per-replica: "2"}},
				spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}`),
			sim.ApplyText(first),
			sim.Together(gone...),
			sim.Patch("deployments.apps", "default/web", `{"metadata":{"annotations":{"podscaler.flyball.dev/pods-per-replica":"1"}}}`),
			sim.ApplyText(more),
		},
	}
}
