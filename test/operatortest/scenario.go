package operatortest

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/internal/manifest"
	"github.com/flyball-io/flyball/sim"
	"github.com/flyball-io/flyball/test/servertest"
)

// simulated is the namespace of a simulation.
const simulated = "default"

// Scenario returns the simulation of these steps, for [sim.Check]. It has the CRDs of Config, and the program with its
// webhooks. If Config has configurations of webhooks, a first step creates them. The program may do everything, watches
// the namespace "default" if it is Namespaced, and logs nothing. A simulation is in memory only: where [servertest.Real]
// is true, the test is skipped.
func (p Program) Scenario(t testing.TB, steps ...sim.Step) sim.Scenario {
	t.Helper()
	if servertest.Real() {
		t.Skip("simulations have no real control plane")
	}
	s := sim.Scenario{Replicas: p.Replicas, Steps: steps}
	if p.Run != nil {
		s.Program = func(ctx context.Context, cfg *rest.Config) error {
			return p.Run(ctx, &Operator{Config: cfg, Namespace: simulated, program: p})
		}
	} else {
		s.Program = func(ctx context.Context, cfg *rest.Config) error {
			m, err := p.manager(cfg)
			if err != nil {
				return err
			}
			return m.Run(ctx)
		}
	}
	if err := p.install(t, &s); err != nil {
		t.Fatalf("operatortest: %v", err)
	}
	return s
}

// install adds what Config has to a scenario.
func (p Program) install(t testing.TB, s *sim.Scenario) error {
	objs, err := (&Operator{program: p}).read("crd/bases", "crd/external", "webhook")
	if err != nil {
		return err
	}
	var crds, hooks []manifest.Object
	for _, o := range manifest.ByURL(objs, "https://webhooks") { // there are no Services
		switch {
		case manifest.IsCRD(o):
			crds = append(crds, o)
		case isCaller(o):
			p.own(o, simulated)
			hooks = append(hooks, o)
		}
	}
	if len(crds) > 0 {
		var text bytes.Buffer
		s.CRDs = filepath.Join(t.TempDir(), "crds.yaml")
		if err := errors.Join(manifest.Write(&text, crds), os.WriteFile(s.CRDs, text.Bytes(), 0o600)); err != nil {
			return err
		}
	}
	if len(hooks) > 0 {
		var text strings.Builder
		if err := manifest.Write(&text, hooks); err != nil {
			return err
		}
		s.Steps = append([]sim.Step{sim.ApplyText(text.String())}, s.Steps...)
	}
	if p.Run != nil {
		return nil
	}
	m, err := p.manager(&rest.Config{Host: "http://localhost"}) // which is not asked
	if err != nil {
		return err
	}
	s.Webhooks = m.WebhookHandler()
	return nil
}

// manager makes a manager for a simulation.
func (p Program) manager(cfg *rest.Config) (*flyball.Manager, error) {
	o, err := (&Operator{program: p}).options()
	if err != nil {
		return nil, err
	}
	o.Config, o.Logger = cfg, slog.New(slog.DiscardHandler)
	p.place(&o, simulated)
	m, err := flyball.New(o)
	if err == nil && p.Add != nil {
		err = p.Add(m)
	}
	return m, err
}

// own restricts the webhooks of a Namespaced program to a namespace.
func (p Program) own(config manifest.Object, namespace string) {
	if !p.Namespaced {
		return
	}
	own := map[string]any{corev1.LabelMetadataName: namespace}
	manifest.EachHook(config, func(hook map[string]any) { hook["namespaceSelector"] = map[string]any{"matchLabels": own} })
}
