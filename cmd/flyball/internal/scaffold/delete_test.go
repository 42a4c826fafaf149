package scaffold

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// did fails the test if a step failed.
func did(t *testing.T) func(*Result, error) *Result {
	return func(r *Result, err error) *Result {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

// Versions come and go. The marker of the conversion goes with the last one, and nothing is left of the kind.
func TestVersionsComeAndGo(t *testing.T) {
	dir := newShop(t)
	o := unbuilt(dir)
	has := func(name, text string) bool {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		return err == nil && strings.Contains(string(data), text)
	}
	const hub, conversion = "api/shop/v1/order_types.go", "api/shop/v3/order_conversion.go"
	v := func(version string) Removal { return Removal{Group: "shop", Version: version, Kind: "Order"} }
	did(t)(CreateAPI(t.Context(), o, NewAPI{Group: "shop", Version: "v1", Kind: "Order", Resource: true, Controller: true}))
	did(t)(CreateWebhook(t.Context(), o, NewWebhook{Group: "shop", Version: "v1", Kind: "Order", Validation: true, Conversion: true, Spokes: []string{"v2", "v3"}}))
	if !has(hub, conversionMarker) || !has(conversion, "package v3") {
		t.Error("there is no conversion")
	}
	if _, err := DeleteAPI(t.Context(), o, v("v1")); err == nil || !strings.Contains(err.Error(), "is the hub of Order") {
		t.Errorf("the hub: %v", err)
	}
	did(t)(DeleteAPI(t.Context(), o, v("v2")))
	if has("api/shop/v2/order_types.go", "") || !has(hub, conversionMarker) {
		t.Error("v2 is there, or the conversion to v3 is not")
	}
	both := v("v1")
	both.Conversion, both.Validation = true, true
	did(t)(DeleteWebhook(t.Context(), o, both))
	if has(hub, conversionMarker) || has(conversion, "") || has("api/shop/v1/order_validation.go", "") {
		t.Error("the webhooks are there")
	}
	did(t)(DeleteAPI(t.Context(), o, v("v3")))
	did(t)(DeleteAPI(t.Context(), o, v("v1")))
	for _, name := range []string{"api", "internal/controller/order_controller.go"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if has(ProjectFile, "Order") || has("internal/setup/setup.go", "Order") || has("config/samples/kustomization.yaml", "order") {
		t.Error("it is still named")
	}
}

// Controllers and webhooks of kinds that others define can go again.
func TestKindsOfOthersGo(t *testing.T) {
	dir := newShop(t)
	o := unbuilt(dir)
	before := snapshot(t, dir)
	did(t)(CreateAPI(t.Context(), o, NewAPI{Group: "apps", Version: "v1", Kind: "Deployment", Controller: true, Chosen: true}))
	did(t)(CreateAPI(t.Context(), o, NewAPI{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole", Controller: true, Chosen: true}))
	did(t)(CreateAPI(t.Context(), o, NewAPI{
		Group: "widgets", Version: "v1", Kind: "Widget", Controller: true, Chosen: true,
		External: NewExternal{Path: "example.com/other/api/v1", Domain: "other.example.org"},
	}))
	did(t)(CreateWebhook(t.Context(), o, NewWebhook{Group: "core", Version: "v1", Kind: "Pod", Defaulting: true, Validation: true}))
	did(t)(DeleteWebhook(t.Context(), o, Removal{Group: "core", Version: "v1", Kind: "Pod", Defaulting: true, Validation: true}))
	for group, kind := range map[string]string{"apps": "Deployment", "rbac": "ClusterRole", "widgets": "Widget"} {
		did(t)(DeleteAPI(t.Context(), o, Removal{Group: group, Version: "v1", Kind: kind}))
	}
	after := snapshot(t, dir)
	for name, text := range after {
		if was, ok := before[name]; !ok {
			t.Errorf("%s is left", name)
		} else if was != text && filepath.Base(name) != "go.mod" {
			t.Errorf("%s is not as it was:\n%s", name, text)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			t.Errorf("%s has gone", name)
		}
	}
}
