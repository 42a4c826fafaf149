package client_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
)

// An apply that breaks the schema is told apart from a server that fails, by the messages of a real one.
func TestAppliesThatBreakTheSchema(t *testing.T) {
	ctx, c, ns := live(t)
	gvk := schema.GroupVersionKind{Group: "apply.flyball.test", Version: "v1", Kind: "Thing"}
	livetest.Define(t, c, testobj.CRD(gvk, "things", func(spec map[string]any) {
		version := func(name, field, both string, storage bool) map[string]any {
			fields := map[string]any{field: map[string]any{"type": "string"}, "both": map[string]any{"type": both}}
			return map[string]any{"name": name, "served": true, "storage": storage, "schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object", "properties": fields}},
			}}}
		}
		spec["versions"] = []any{version("v1", "old", "integer", true), version("v2", "new", "string", false)}
	}))
	thing := func(version, field string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": gvk.Group + "/" + version, "kind": gvk.Kind,
			"metadata": map[string]any{"name": "moved", "namespace": ns}, "spec": map[string]any{field: "x"},
		}}
	}
	must(client.Apply(ctx, c, thing("v1", "old"), "me"))(t)
	deployment := func(spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "d", "namespace": ns}, "spec": spec,
		}}
	}
	twice := []any{map[string]any{"name": "A", "value": "1"}, map[string]any{"name": "A", "value": "2"}}
	for name, o := range map[string]*unstructured.Unstructured{
		"two elements of one key": deployment(map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "c", "env": twice}},
		}}}),
		"an unknown field":      deployment(map[string]any{"nosuch": "x"}),
		"a text for a map":      deployment(map[string]any{"selector": "x"}),
		"an unknown field, CRD": thing("v1", "nosuch"),
		"other: a new field":    thing("v2", "new"),
		"other: a new type":     thing("v2", "both"),
	} {
		_, err := client.Apply(ctx, c, o, "me")
		e, ok := errors.AsType[*client.SchemaError](err)
		if !ok || errors.Is(err, object.ErrNoAnswer) || !strings.Contains(err.Error(), e.Status().Message) || e.OtherVersion != strings.HasPrefix(name, "other") {
			t.Errorf("%s: %T %v", name, err, err)
		}
	}
	if changed, err := client.MoveFields(ctx, c, thing("v2", "new"), "me"); err != nil || !changed {
		t.Errorf("%t, %v", changed, err)
	}
	if changed, err := client.MoveFields(ctx, c, thing("v2", "new"), "me"); err != nil || changed {
		t.Errorf("moved again: %t, %v", changed, err)
	}
	must(client.Apply(ctx, c, thing("v2", "new"), "me"))(t)
}
