package generate

import (
	"strings"
	"testing"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/test/servertest"
)

// TestAccepted applies all generated objects to a real API server. The server accepts every object,
// and serves the kinds.
func TestAccepted(t *testing.T) {
	p := servertest.Shared(t)
	c := livetest.Client(t, p, client.Options{})
	dir := newProject(t, "shop.txtar")
	edit(t, dir, "internal/controller/order.go", ",namespace=shop", ",namespace=default")
	plan, err := Manifests(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	created := 0
	for _, f := range plan.Write {
		for _, text := range strings.Split(string(f.Data), "---\n")[1:] {
			var u unstructured.Unstructured
			if err := yaml.UnmarshalStrict([]byte(text), &u.Object); err != nil {
				t.Fatal(err)
			}
			var opts []client.WriteOption
			if strings.HasPrefix(f.Path, "config/webhook") {
				opts = append(opts, client.DryRun{}) // they have no server here
			}
			got, err := client.Create(t.Context(), c, &u, opts...)
			if err != nil {
				t.Errorf("%s: %v", f.Path, err)
				continue
			}
			created++
			if u.GetKind() == "CustomResourceDefinition" {
				established(t, c, got.GetName())
			}
		}
	}
	if created != 6 {
		t.Errorf("created %d objects, want two CRDs, two roles and two webhook configurations", created)
	}

	// The rule, the default and the range are those of the markers.
	order := func(spec map[string]any) error {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "shop.example.com/v1", "kind": "Order", "spec": spec}}
		u.SetName("o")
		u.SetNamespace("default")
		_, err := client.Create(t.Context(), c, u, client.DryRun{})
		return err
	}
	for _, test := range []struct {
		spec map[string]any
		want string
	}{
		{map[string]any{"size": 3}, ""},
		{map[string]any{"note": "the size has a default"}, ""},
		{map[string]any{"size": 11}, "spec.size"},
		{map[string]any{"size": 1, "lines": []any{map[string]any{"sku": "a", "kind": "Huge"}}}, "spec.lines[0].kind"},
	} {
		if err := order(test.spec); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v, want %q", test.spec, err, test.want)
		}
	}
}

// established waits until the server serves a kind.
func established(t *testing.T, c *client.Live, name string) {
	t.Helper()
	w, err := client.Watch[unstructured.Unstructured](t.Context(), c, client.OfKind(extv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")), client.FieldSelector("metadata.name="+name))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e, err := range w.Events() {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if e.Object != nil && serves(t, e.Object) { // a bookmark has none
			return
		}
	}
	t.Fatalf("%s: never established", name)
}

func serves(t *testing.T, o *unstructured.Unstructured) bool {
	t.Helper()
	conditions, _, err := unstructured.NestedFieldNoCopy(o.Object, "status", "conditions")
	if err != nil {
		t.Fatal(err)
	}
	list, _ := conditions.([]any) // null at first
	for _, x := range list {
		c := x.(map[string]any)
		if c["type"] == "NamesAccepted" && c["status"] == "False" || c["type"] == "NonStructuralSchema" && c["status"] == "True" {
			t.Errorf("condition %v", c)
		}
		if c["type"] == "Established" && c["status"] == "True" {
			return true
		}
	}
	return false
}
