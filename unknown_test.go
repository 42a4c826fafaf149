package flyball

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/google/go-cmp/cmp"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/manifest"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/test/servertest"
)

// gadget is the Go type of an operator that is older than the resource definition.
type gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Size  int `json:"size,omitempty"`
		Ports []struct {
			Name string `json:"name"`
			Port int    `json:"port"`
		} `json:"ports,omitempty"`
	} `json:"spec"`
	Status struct {
		Ready bool `json:"ready,omitempty"`
	} `json:"status,omitzero"`
}

func (g *gadget) DeepCopyObject() runtime.Object {
	d := *g
	d.Spec.Ports = append(d.Spec.Ports[:0:0], g.Spec.Ports...)
	return &d
}

const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.unknown.test}
spec:
  group: unknown.test
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets}
  versions:
  - name: v2
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              color: {type: string}
              ports:
                type: array
                items:
                  type: object
                  properties:
                    name: {type: string}
                    port: {type: integer}
                    protocol: {type: string, default: TCP}
          status:
            type: object
            properties:
              ready: {type: boolean}
              phase: {type: string}
`

// On a real server: a controller reads an object from the cache, changes the fields of its Go type, and updates the
// object. The other fields stay, and no request but the updates is sent.
func TestLiveUpdateKeepsUnknownFields(t *testing.T) {
	p := servertest.Shared(t)
	ns := servertest.Namespace(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	gvk := schema.GroupVersionKind{Group: "unknown.test", Version: "v2", Kind: "Gadget"}
	types := scheme.New()
	types.AddKnownTypeWithName(gvk, &gadget{})
	var reads atomic.Int32
	m, err := New(Options{
		Name: "unknown", Config: p.RESTConfig(), Logger: slog.New(slog.DiscardHandler),
		Client: client.Options{Scheme: types, Hook: func(d client.Done) {
			if d.Kind == "Gadget" && d.Verb == "get" {
				reads.Add(1)
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	crd, err := manifest.Decode("gadgets.yaml", strings.NewReader(gadgets))
	if err != nil {
		t.Fatal(err)
	}
	if err := manifest.Apply(ctx, m.Live(), "test", crd, nil); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = manifest.Delete(context.WithoutCancel(ctx), m.Live(), crd, nil) }()

	whole := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "g", "namespace": ns},
		"spec": map[string]any{"size": int64(1), "color": "red", "ports": []any{
			map[string]any{"name": "a", "port": int64(1), "protocol": "UDP"}, map[string]any{"name": "b", "port": int64(2)},
		}},
	}}
	whole.SetGroupVersionKind(gvk)
	whole, err = client.Create(ctx, m.Live(), whole)
	if err != nil {
		t.Fatal(err)
	}
	whole.Object["status"] = map[string]any{"phase": "Done"}
	if whole, err = client.UpdateStatus(ctx, m.Live(), whole); err != nil {
		t.Fatal(err)
	}

	handle, err := m.Cache().Open(ctx, &gadget{}, client.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	stop := ran(t, m)
	if err := m.Cache().WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	g, err := client.Get[gadget](ctx, m.Client(), object.Key{Namespace: ns, Name: "g"})
	if err != nil {
		t.Fatal(err)
	}
	if g.ResourceVersion != whole.GetResourceVersion() {
		t.Fatalf("read version %s of %s", g.ResourceVersion, whole.GetResourceVersion())
	}
	g.Spec.Size = 2
	g.Spec.Ports[0], g.Spec.Ports[1] = g.Spec.Ports[1], g.Spec.Ports[0]
	g.Spec.Ports[1].Port = 3
	if g, err = client.Update(ctx, m.Client(), g); err != nil {
		t.Fatal(err)
	}
	g.Status.Ready = true
	if _, err = client.UpdateStatus(ctx, m.Client(), g); err != nil {
		t.Fatal(err)
	}
	if n := reads.Load(); n != 0 {
		t.Errorf("%d reads from the server", n)
	}
	if err := m.Live().Get(ctx, object.KeyOf(whole), whole, client.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"size": int64(2), "color": "red", "ports": []any{
		map[string]any{"name": "b", "port": int64(2), "protocol": "TCP"}, map[string]any{"name": "a", "port": int64(3), "protocol": "UDP"},
	}}
	if d := cmp.Diff(want, whole.Object["spec"]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]any{"ready": true, "phase": "Done"}, whole.Object["status"]); d != "" {
		t.Error(d)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
