package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	_ "github.com/flyball-io/flyball/internal/simpart"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/sim"
)

// The journals are right whatever goes wrong.
func TestSim(t *testing.T) {
	tier.NotShort(t, "runs the rules of Kubernetes")
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	defer slog.SetDefault(was)
	pod := func(name string) string {
		return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %q, labels: {%s: \"true\"}}, spec: {containers: [{name: c, image: i}]}}\n---\n", name, enabled)
	}
	sim.Check(t, sim.Scenario{
		Program: func(ctx context.Context, cfg *rest.Config) error {
			c, err := client.New(cfg, client.Options{})
			if err != nil {
				return err
			}
			defer c.Close()
			return keep(ctx, c, "")
		},
		Steps: []sim.Step{
			sim.ApplyText(pod("a") + pod("b")),
			sim.Patch("pods/status", "default/a", `{"status":{"phase":"Running"}}`),
			sim.Patch("pods", "default/b", fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, enabled)),
			sim.Delete("configmaps", "default/a-journal"),
			sim.Delete("pods", "default/a"),
		},
	})
}
