package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/cmd/flyball/internal/scaffold"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/object"
)

// A kind goes from v1 to v2, and then without v1, with an object that was stored as v1, as the guide says.
func TestStorageVersionMoves(t *testing.T) {
	tier.Audit(t, "runs the go command")
	t.Parallel()
	s, err := apiserver.New(t.Context(), apiserver.Options{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, s.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(s.RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	dir := filepath.Join(t.TempDir(), "shop")
	program, err := plainProgram()
	if err != nil {
		t.Fatal(err)
	}
	flyball := func(want string, args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), filepath.Join(program, "flyball"), append(args, "--dir", dir)...).CombinedOutput()
		switch {
		case want == "" && err != nil:
			t.Fatalf("flyball %s: %v\n%s", strings.Join(args, " "), err, out)
		case want != "" && (err == nil || !strings.Contains(string(out), want)):
			t.Fatalf("flyball %s: %v, want an error with %q\n%s", strings.Join(args, " "), err, want, out)
		}
	}
	install := func(want string, more ...string) {
		t.Helper()
		flyball(want, append([]string{"install", "--kubeconfig", kubeconfig}, more...)...)
	}
	kind := []string{"--group", "shop", "--kind", "Order"}
	flyball("", "init", "--domain", "example.com", "--module", "example.com/shop")
	flyball("", append([]string{"create", "api", "--version", "v1", "--controller=false"}, kind...)...)
	install("")
	order := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "shop.example.com/v1", "kind": "Order", "spec": map[string]any{"message": "hello"}}}
	order.SetName("a")
	order.SetNamespace("default")
	if _, err := client.Create(t.Context(), c, order); err != nil {
		t.Fatal(err)
	}
	flyball("", append([]string{"create", "api", "--version", "v2", "--controller=false"}, kind...)...)
	install("")
	flyball("makes another one the hub", append([]string{"delete", "api", "--version", "v1"}, kind...)...)
	flyball("", append([]string{"edit", "api", "--hub", "v2"}, kind...)...)
	install("")
	flyball("", append([]string{"delete", "api", "--version", "v1"}, kind...)...)
	install("stored as v1", "--allow-breaking")

	// As the guide says: each object is written once, and v1 goes from the status.
	v2 := &unstructured.Unstructured{}
	v2.SetGroupVersionKind(schema.GroupVersionKind{Group: "shop.example.com", Version: "v2", Kind: "Order"})
	key := object.Key{Namespace: "default", Name: "a"}
	if err := c.Get(t.Context(), key, v2, client.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Update(t.Context(), c, v2); err != nil {
		t.Fatal(err)
	}
	crd := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}}
	crd.SetName("orders.shop.example.com")
	if _, err := client.Patch(t.Context(), c, crd, client.MergePatch(`{"status":{"storedVersions":["v2"]}}`), client.Sub("status")); err != nil {
		t.Fatal(err)
	}
	install("--allow-breaking applies them")
	install("", "--allow-breaking")
	if err := c.Get(t.Context(), key, v2, client.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if message, _, _ := unstructured.NestedString(v2.Object, "spec", "message"); message != "hello" {
		t.Errorf("the message is %q", message)
	}
	p, err := scaffold.Load(dir)
	if err != nil || len(p.APIs) != 1 || p.APIs[0].Hub != "v2" || len(p.APIs[0].Versions) != 1 {
		t.Errorf("%v, %+v", err, p)
	}
}
