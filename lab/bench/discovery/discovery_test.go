package discovery

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/manifest"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// Both agree on a real control plane, with custom resources in several versions.
func TestSameOfControlPlane(t *testing.T) {
	p := servertest.Shared(t)
	c := livetest.Client(t, p, client.Options{})
	crds := []manifest.Object{
		definition("discovery.test", "Widget", "widgets", "Namespaced", "v1", "v2beta1"),
		definition("discovery.test", "Policy", "policies", "Cluster", "v1alpha1"),
		definition("more.discovery.test", "Widget", "widgets", "Cluster", "v3"), // the name is also used in another group
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // only a hanging test takes so long
		defer cancel()
		if err := manifest.Delete(ctx, c, crds, nil); err != nil {
			t.Error(err)
		}
	})
	if err := manifest.Apply(t.Context(), c, "test", crds, nil); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]*rest.Config{"aggregated": p.RESTConfig(), "plain": plain(p.RESTConfig())} {
		t.Run(name, func(t *testing.T) {
			other, groups := theirs(t, cfg)
			mapper := ours(t, cfg)
			for _, g := range groups {
				newWords().of(g).same(t, mapper, other)
			}
		})
	}
}

// plain requests only the documents that every server has.
func plain(cfg *rest.Config) *rest.Config {
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &accepting{next} })
	return cfg
}

type accepting struct{ next http.RoundTripper }

func (a *accepting) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Accept", "application/json")
	return a.next.RoundTrip(r)
}

// WrappedRoundTripper lets the close of a client find the underlying transport.
func (a *accepting) WrappedRoundTripper() http.RoundTripper { return a.next }

func definition(group, kind, plural, scope string, versions ...string) *unstructured.Unstructured {
	var all []any
	for i, v := range versions {
		all = append(all, map[string]any{
			"name": v, "served": true, "storage": i == 0,
			"schema":       map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			"subresources": map[string]any{"status": map[string]any{}},
		})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group, "scope": scope, "versions": all,
			"names": map[string]any{"kind": kind, "plural": plural, "shortNames": []any{plural[:2]}},
		},
	}}
}

// Both agree on what a seed makes: kinds with the same names, versions that are stale or do not
// answer, in all forms of discovery.
func TestSameOfSeeds(t *testing.T) {
	seeds := uint64(10)
	if os.Getenv("FLYBALL_LONG") != "" {
		seeds = 30
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := newServer(rand.New(rand.NewPCG(seed, 0)))
			cfg := &rest.Config{Host: "http://seed.test", Transport: s}
			other, groups := theirs(t, cfg)
			newWords().of(groups...).same(t, ours(t, cfg), other)
			if t.Failed() {
				t.Logf("served: %s", s)
			}
		})
	}
}
