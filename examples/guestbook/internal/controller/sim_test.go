package controller_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/condition"
	_ "github.com/flyball-io/flyball/internal/simpart"
	"github.com/flyball-io/flyball/sim"
	"github.com/flyball-io/flyball/test/operatortest"

	webappv1 "github.com/flyball-io/flyball/examples/guestbook/api/webapp/v1"
	"github.com/flyball-io/flyball/examples/guestbook/internal/setup"
)

// The program is right whatever goes wrong.
func TestSim(t *testing.T) {
	sim.Check(t, scenario(t,
		sim.Apply("../../config/samples/webapp_v1_guestbook.yaml"),
		sim.Patch("guestbooks.v1.webapp.example.com", "default/guestbook-sample-v1", `{"spec":{"size":3}}`),
		sim.Delete("guestbooks.v1.webapp.example.com", "default/guestbook-sample-v1"),
	))
}

// scenario is the whole program with its webhooks.
func scenario(t *testing.T, steps ...sim.Step) sim.Scenario {
	program := operatortest.Program{Options: setup.Options, Add: setup.Add, Config: "../../config"}
	s := program.Scenario(t, steps...)
	s.Corrects = []string{"deployments.apps", "services"}
	s.Settled = []sim.Invariant{sim.Holds("each Guestbook has its Deployment and tells of it, and there is no other", settled)}
	return s
}

// settled returns an error unless each Guestbook has a Deployment of its size, and a condition of its present generation.
func settled(ctx context.Context, cfg *rest.Config) error {
	o, err := setup.Options()
	if err != nil {
		return err
	}
	c, err := client.New(cfg, client.Options{Scheme: o.Scheme, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer c.Close()
	sizes := map[string]int32{}
	for d, err := range client.List[appsv1.Deployment](ctx, c) {
		if err != nil {
			return err
		}
		sizes[d.Name] = *d.Spec.Replicas
	}
	for g, err := range client.List[webappv1.Guestbook](ctx, c) {
		if err != nil {
			return err
		}
		if g.DeletionTimestamp != nil {
			return fmt.Errorf("%s has not gone", g.Name)
		}
		g.SetDefaults()
		ready, ok := condition.Find(g.Status.Conditions, "Ready")
		size, has := sizes[g.Name]
		if !ok || !has || size != *g.Spec.Size || ready.ObservedGeneration != g.Generation {
			return fmt.Errorf("%s of generation %d and size %d has a Deployment of %d, and the condition %+v", g.Name, g.Generation, *g.Spec.Size, size, ready)
		}
		delete(sizes, g.Name)
	}
	if len(sizes) > 0 {
		return fmt.Errorf("these belong to nobody: %v", sizes)
	}
	return nil
}
