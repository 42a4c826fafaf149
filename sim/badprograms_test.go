package sim_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/sim"
)

// get makes a request of the program.
func get(ctx context.Context, cfg *rest.Config, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: cfg.Transport}).Do(req)
	if err == nil {
		err = resp.Body.Close()
	}
	return err
}

// A program, a scenario or a plan that cannot be used is a clear error, and soon.
func TestBadInput(t *testing.T) {
	waits := func(ctx context.Context, _ *rest.Config) error { <-ctx.Done(); return nil }
	steps := []sim.Step{app("a", `"x":"y"`, "")}
	for name, c := range map[string]struct {
		scenario sim.Scenario
		want     string
	}{
		"no program":                  {sim.Scenario{Steps: steps}, "Scenario.Program"},
		"no steps":                    {sim.Scenario{Program: waits}, "Scenario.Steps"},
		"no such file":                {sim.Scenario{Program: waits, Steps: steps, CRDs: "testdata/none"}, "CRDs"},
		"unknown controller":          {sim.Scenario{Program: waits, Steps: steps, Controllers: []string{"deploymnet"}}, "Controllers"},
		"a step that fails":           {sim.Scenario{Program: waits, Steps: []sim.Step{sim.Patch("configmaps", "default/none", "{}")}}, `step 1, patch configmaps default/none: configmaps "none" not found`},
		"a kind that is not served":   {sim.Scenario{Program: waits, Steps: []sim.Step{sim.ApplyText(`{apiVersion: x.dev/v1, kind: Order, metadata: {name: a}}`)}}, "the server has no x.dev/v1"},
		"a key without its namespace": {sim.Scenario{Program: waits, Steps: []sim.Step{sim.Delete("configmaps", "a")}}, "namespace/name"},
		"returns at once":             {sim.Scenario{Steps: steps, Program: func(context.Context, *rest.Config) error { return errors.New("no leader") }}, "has ended, although its context had not: no leader"},
		"panics":                      {sim.Scenario{Steps: steps, Program: func(context.Context, *rest.Config) error { panic("nil map") }}, "panicked: nil map"},
		"ignores its context":         {sim.Scenario{Steps: steps, Program: func(context.Context, *rest.Config) error { forEver(); return nil }}, "ignores the end of its context"},
		"another host": {sim.Scenario{Steps: steps, Program: func(ctx context.Context, cfg *rest.Config) error {
			return get(ctx, cfg, "https://example.com/metrics")
		}}, "https://example.com/metrics: nothing but the API server can be reached"},
		"never rests": {sim.Scenario{Steps: steps, Program: func(ctx context.Context, cfg *rest.Config) error {
			for ctx.Err() == nil {
				if err := get(ctx, cfg, cfg.Host+"/api/v1/namespaces/default/configmaps"); err != nil {
					return err
				}
			}
			return nil
		}}, "does not come to rest: 20001 calls and events without a pause"},
		"writes for ever": {sim.Scenario{Steps: steps, Program: func(ctx context.Context, cfg *rest.Config) error {
			return flipFlop(ctx, cfg)
		}}, "there are still writes"},
		"differs from run to run": {sim.Scenario{Steps: steps, Program: func(ctx context.Context, cfg *rest.Config) error {
			if err := get(ctx, cfg, cfg.Host+"/api/v1/namespaces/default/configmaps/"+drawn()); err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		}}, "two runs of the same program differ"},
		"makes something else when it starts again": {sim.Scenario{Steps: steps, Program: func(ctx context.Context, cfg *rest.Config) error {
			return marksWhatItFinds(ctx, cfg)
		}}, "started again after the last step makes something else than one that has seen all steps: then configmaps/default/a differs"},
		"a cache that misses deletions": {sim.Scenario{Steps: append(steps[:1:1], sim.Delete("configmaps", "default/a")), Program: func(ctx context.Context, cfg *rest.Config) error {
			deaf := rest.CopyConfig(cfg)
			deaf.Transport = deafToDeletions{cfg.Transport}
			return program(func(m *flyball.Manager) error { return operator(m, func(kit) error { return nil }) })(ctx, deaf)
		}}, "after step 2: a cache of the program is not as the server, at rest: configmaps default/a is held, and there is none"},
		"a goroutine outlives it": {sim.Scenario{Steps: steps, Program: func(ctx context.Context, _ *rest.Config) error {
			go forEver()
			<-ctx.Done()
			return nil
		}}, "goroutines of the program outlive it"},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, err := sim.Find(t, c.scenario, 1, 0)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if took := time.Since(began); tier.InAudit() && took > 5*time.Minute {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// forEver never returns.
func forEver() { select {} }

// A program that waits for something outside of its bubble is named, with the line where it waits.
func TestProgramsThatHang(t *testing.T) {
	tier.Audit(t, "waits by the real clock until a program has done nothing for a while")
	sim.StuckAfter(t, 3*time.Second)
	steps := []sim.Step{app("a", `"x":"y"`, "")}
	var held sync.Mutex
	held.Lock()
	defer held.Unlock()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, program := range map[string]func(context.Context, *rest.Config) error{
		"a lock that another one holds": func(context.Context, *rest.Config) error {
			held.Lock()
			defer held.Unlock()
			return nil
		},
		"a socket": func(context.Context, *rest.Config) error {
			_, err := l.Accept()
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sim.Find(t, sim.Scenario{Steps: steps, Program: program}, 1, 0)
			if err == nil || !strings.Contains(err.Error(), "the program hangs") || !strings.Contains(err.Error(), "badprograms_test.go:") {
				t.Errorf("%v", err)
			}
		})
	}
}

var draws int

// drawn returns another name each time.
func drawn() string {
	draws++
	return strings.Repeat("x", draws)
}

// marksWhatItFinds changes an object that is there when it starts.
func marksWhatItFinds(ctx context.Context, cfg *rest.Config) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, cfg.Host+"/api/v1/namespaces/default/configmaps/a", strings.NewReader(`{"data":{"found":"yes"}}`))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/merge-patch+json")
	resp, err := cfg.Transport.RoundTrip(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	<-ctx.Done()
	return nil
}

// deafToDeletions shows deleted objects as if they were there.
type deafToDeletions struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (d deafToDeletions) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.RoundTripper.RoundTrip(r)
	if err == nil && r.URL.Query().Has("watch") {
		resp.Body = deafBody{resp.Body}
	}
	return resp, err
}

// CloseIdleConnections does nothing: there are no connections.
func (deafToDeletions) CloseIdleConnections() {}

type deafBody struct{ io.ReadCloser }

// Read implements [io.Reader].
func (b deafBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	copy(p, bytes.ReplaceAll(p[:n], []byte(`"DELETED"`), []byte(`"ADDED"  `)))
	return n, err
}

// flipFlop changes an object back and forth, each second.
func flipFlop(ctx context.Context, cfg *rest.Config) error {
	for n := 0; ; n++ {
		body := `{"data":{"turn":"` + []string{"on", "off"}[n%2] + `"}}`
		req, err := http.NewRequestWithContext(ctx, http.MethodPatch, cfg.Host+"/api/v1/namespaces/default/configmaps/a", strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/merge-patch+json")
		resp, err := cfg.Transport.RoundTrip(req)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil
		}
	}
}
