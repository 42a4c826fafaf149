package convert_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/test/servertest"
	"github.com/flyball-io/flyball/webhook/convert"
)

func kind(version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group.Group, Version: version, Kind: "Order"}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// serveOrders creates the CustomResourceDefinition of orders, with conversion at url.
func serveOrders(t *testing.T, c *client.Live, url string, ca []byte) {
	t.Helper()
	var versions []any
	for v, fields := range map[string]map[string]any{
		"v1": {"spec": map[string]any{"type": "object", "properties": map[string]any{"cents": map[string]any{"type": "integer"}, "items": list(map[string]any{"type": "string"})}}},
		"v2": {"spec": map[string]any{"type": "object", "properties": map[string]any{"price": map[string]any{"type": "string"},
			"items": list(map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}})}}},
		"v3": {"total": map[string]any{"type": "integer"}, "lines": list(map[string]any{"type": "string"})},
	} {
		versions = append(versions, map[string]any{"name": v, "served": true, "storage": v == "v1",
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": fields}}})
	}
	livetest.Define(t, c, testobj.CRD(kind("v1"), "orders", func(spec map[string]any) {
		spec["versions"] = versions
		spec["conversion"] = map[string]any{"strategy": "Webhook", "webhook": map[string]any{
			"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"url": url, "caBundle": ca},
		}}
	}))
}

func list(of map[string]any) map[string]any { return map[string]any{"type": "array", "items": of} }

func TestAPIServerConverts(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle(convert.Path, endpoint(t))
	srv := httptest.NewTLSServer(mux)
	t.Cleanup(srv.Close)
	p := servertest.Shared(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := livetest.Client(t, p, client.Options{})
	ns := servertest.Namespace(t, p)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	serveOrders(t, c, srv.URL+convert.Path, ca)

	order := func(version, name string, fields map[string]any) *unstructured.Unstructured {
		o := map[string]any{"apiVersion": group.Group + "/" + version, "kind": "Order",
			"metadata": map[string]any{"name": name, "namespace": ns, "labels": map[string]any{"a": "b"}, "finalizers": []any{"flyball.test/f"}}}
		for k, v := range fields {
			o[k] = v
		}
		return &unstructured.Unstructured{Object: o}
	}
	made := must(client.Create(ctx, c, order("v2", "a", map[string]any{"spec": map[string]any{"price": "12.50", "items": []any{map[string]any{"name": "x"}}}})))(t)
	t.Cleanup(func() { // otherwise the kind cannot be deleted
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		for o, err := range client.List[unstructured.Unstructured](ctx, c, client.OfKind(kind("v1")), client.InNamespace(ns)) {
			if err == nil {
				_, err = client.Patch(ctx, c, o, client.MergePatch(`{"metadata":{"finalizers":null}}`))
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	must(client.Create(ctx, c, order("v3", "b", map[string]any{"total": int64(7)})))(t)

	for version, want := range map[string]string{
		"v1": "map[cents:1250 items:[x]] <nil>",
		"v2": "map[items:[map[name:x]] price:12.50] <nil>",
		"v3": "<nil> 1250",
	} {
		got := must(client.Get[unstructured.Unstructured](ctx, c, object.KeyOf(made), client.OfKind(kind(version))))(t)
		if s := fmt.Sprint(got.Object["spec"], got.Object["total"]); s != want {
			t.Errorf("as %s: %s, want %s", version, s, want)
		}
		if got.GetUID() != made.GetUID() || got.GetLabels()["a"] != "b" || len(got.GetFinalizers()) != 1 || got.GetResourceVersion() != made.GetResourceVersion() {
			t.Errorf("as %s: metadata %v", version, got.Object["metadata"])
		}
		var names []string
		for o, err := range client.List[unstructured.Unstructured](ctx, c, client.OfKind(kind(version)), client.InNamespace(ns)) {
			names = append(names, must(o, err)(t).GetName())
		}
		if strings.Join(names, " ") != "a b" {
			t.Errorf("list as %s: %v", version, names)
		}
	}
	// A write in one version is visible in another.
	if _, err := client.Patch(ctx, c, order("v2", "b", nil), client.MergePatch(`{"spec":{"price":"0.09"}}`)); err != nil {
		t.Fatal(err)
	}
	got := must(client.Get[unstructured.Unstructured](ctx, c, object.Key{Namespace: ns, Name: "b"}, client.OfKind(kind("v3"))))(t)
	if total, _, _ := unstructured.NestedInt64(got.Object, "total"); total != 9 {
		t.Errorf("%v", got.Object)
	}
	// An object that cannot be converted is rejected, with the reason.
	_, err := client.Create(ctx, c, order("v2", "bad", map[string]any{"spec": map[string]any{"price": "much"}}))
	if err == nil || !strings.Contains(err.Error(), `Order `+ns+`/bad to shop.flyball.test/v1: spec.price`) {
		t.Errorf("%v", err)
	}
}
