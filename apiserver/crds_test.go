package apiserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
)

const toyCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: toys.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: toys, kind: Toy}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {color: {type: string, default: blue}}}}}}
`

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The definitions of a project are there when the server has started, and their kinds have their defaults.
func TestCRDs(t *testing.T) {
	dir := folder(t, map[string]string{"kustomization.yaml": "resources: [bases/toys.yaml]\n", "bases/toys.yaml": toyCRD})
	for _, where := range []string{dir, filepath.Join(dir, "bases"), filepath.Join(dir, "bases", "toys.yaml"), filepath.Join(dir, "*", "*.yaml")} {
		c := newClient(t, apiserver.Start(t, apiserver.Options{CRDs: where}))
		toy := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Toy", "metadata": map[string]any{"namespace": "default", "name": "a"}, "spec": map[string]any{}}}
		made, err := client.Create(t.Context(), c, toy)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if color, _, _ := unstructured.NestedString(made.Object, "spec", "color"); color != "blue" || made.GetGeneration() != 1 {
			t.Errorf("%s: got %v", where, made.Object)
		}
		n := 0
		for o, err := range client.List[metav1.PartialObjectMetadata](t.Context(), c, client.OfKind(toy.GroupVersionKind())) {
			if n++; err != nil || o.Name != "a" {
				t.Errorf("%s: got %v, %v", where, o, err)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d objects of metadata, want 1", where, n)
		}
	}
}

// fatal is a test that keeps the errors of Fatal, and panics in place of ending.
type fatal struct {
	testing.TB
	text string
}

func (f *fatal) Helper() {}

func (f *fatal) Fatal(args ...any) {
	for _, a := range args {
		if err, ok := a.(error); ok {
			f.text += err.Error()
		}
	}
	panic(f)
}

// Errors about definitions name the file and the object.
func TestCRDsThatAreNotValid(t *testing.T) {
	second := strings.Replace(toyCRD, "plural: toys, kind: Toy", "plural: tools, kind: Toy", 1)
	second = strings.Replace(second, "toys.example.com", "tools.example.com", 1)
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"no text of YAML":   {map[string]string{"a.yaml": "kind: [\n"}, []string{"a.yaml"}},
		"two of one name":   {map[string]string{"a.yaml": toyCRD, "b.yaml": toyCRD}, []string{"b.yaml", "toys.example.com", "a.yaml, too"}},
		"not structural":    {map[string]string{"a.yaml": strings.Replace(toyCRD, "color: {type: string, default: blue}", "color: {default: blue}", 1)}, []string{"a.yaml", "toys.example.com", "color].type: Required value"}},
		"no schema":         {map[string]string{"a.yaml": strings.Replace(toyCRD, "    schema:", "    x:", 1)}, []string{"a.yaml", "openAPIV3Schema: Required value"}},
		"two of one kind":   {map[string]string{"a.yaml": toyCRD, "b.yaml": second}, []string{"b.yaml", "tools.example.com", `"ToyList" is already in use`}},
		"nothing":           {map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"}, []string{"no custom resource definition", ".yaml, .yml or .json"}},
		"two mistakes":      {map[string]string{"a.yaml": "kind: [\n", "b.yaml": strings.Replace(toyCRD, "storage: true", "storage: false", 1)}, []string{"a.yaml", "b.yaml", "storage"}},
		"an old version":    {map[string]string{"a.yaml": strings.Replace(toyCRD, "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1", 1)}, []string{"a.yaml", "toys.example.com", "its apiVersion is apiextensions.k8s.io/v1beta1", "only apiextensions.k8s.io/v1"}},
		"a missing folder!": {nil, []string{"missing", "no such file"}},
	} {
		t.Run(name, func(t *testing.T) {
			where := folder(t, c.files)
			if c.files == nil {
				where = filepath.Join(where, "missing")
			}
			f := &fatal{TB: t}
			func() {
				defer func() {
					if p := recover(); p != nil && p != any(f) {
						panic(p)
					}
				}()
				apiserver.Start(f, apiserver.Options{CRDs: where})
			}()
			for _, want := range c.want {
				if !strings.Contains(f.text, want) {
					t.Errorf("the error does not have %q: %s", want, f.text)
				}
			}
		})
	}
}

// What the server would warn of is said, once for servers that begin alike.
func TestCRDsWithAnUnknownField(t *testing.T) {
	var told strings.Builder
	where := folder(t, map[string]string{"a.yaml": strings.Replace(toyCRD, "scope:", "skope: x\n  scope:", 1)})
	for range 2 {
		apiserver.Start(t, apiserver.Options{CRDs: where, Progress: &told})
	}
	want := "apiserver: " + filepath.Join(where, "a.yaml") + `: CustomResourceDefinition toys.example.com: warning: unknown field "spec.skope"` + "\n"
	if told.String() != want {
		t.Errorf("told %q, want %q", told.String(), want)
	}
}
