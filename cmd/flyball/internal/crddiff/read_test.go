package crddiff

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAdd(t *testing.T) {
	crd := crdYAML("{type: object}")
	json := `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "a.b"},
"spec": {"group": "b", "names": {"plural": "a", "kind": "A"}, "versions": [{"name": "v1"}]}}`
	const other = "apiVersion: v1\nkind: Secret\n"
	for _, test := range []struct{ name, text, want, fails string }{
		{"one", crd, "orders.shop.example.com at x:1", ""},
		{"documents", "# first\n---\n" + other + "--- # next\n" + crd + "---\n# nothing\n---\n" + strings.ReplaceAll(crd, "orders", "sales") + "---\n",
			"orders.shop.example.com at x:6; sales.shop.example.com at x:23", ""},
		{"windows", "---\r\n" + strings.ReplaceAll(crd, "\n", "\r\n"), "orders.shop.example.com at x:2", ""},
		{"json", "\n" + json + "\n" + strings.ReplaceAll(json, "a.b", "c.b"), "a.b at x:2; c.b at x:4", ""},
		{"list", "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(crd), "\n", "\n  ") + "\n", "orders.shop.example.com at x:1", ""},
		{"none", other, "", ""},
		{"empty", "\n# nothing\n", "", ""},
		{"twice", crd + "---\n" + crd, "", "x:16: CRD orders.shop.example.com is in x:1 too"},
		{"broken", other + "---\n" + crd + "bad: [\n", "", "x: yaml: line 18: did not find expected node content"},
		{"broken JSON", "{\n\"a\": 1,\n}", "", "x:3: invalid character '}' looking for beginning of object key string"},
		{"cut JSON", "{\n\"a\": 1,\n", "", "x:1: unexpected EOF"},
		{"no object", "just: text\n", "", "x:1: not a Kubernetes object: no apiVersion or kind"},
		{"scalar", "text\n", "", "x:1: not a Kubernetes object: json: cannot unmarshal string into Go value of type"},
		{"old version", strings.ReplaceAll(crd, "k8s.io/v1", "k8s.io/v1beta1"), "", "x:1: a CustomResourceDefinition of apiextensions.k8s.io/v1beta1; only apiextensions.k8s.io/v1 can be compared"},
		{"no name", strings.ReplaceAll(crd, "  name: orders.shop.example.com\n", "  labels: {}\n"), "", "x:1: not a CustomResourceDefinition: no metadata.name"},
		{"no kind", strings.ReplaceAll(crd, "kind: Order, ", ""), "", "no spec.names.kind"},
		{"no versions", crd[:strings.Index(crd, "  versions:")], "", "no spec.versions"},
		{"wrong type", strings.ReplaceAll(crd, "served: true", "served: 3"), "", "x:1: not a CustomResourceDefinition: json: cannot unmarshal number into Go struct field"},
	} {
		s := Set{}
		err := s.Add("x", []byte(test.text))
		if test.fails != "" {
			if err == nil || !strings.Contains(err.Error(), test.fails) {
				t.Errorf("%s: %v, want %s", test.name, err, test.fails)
			}
			continue
		}
		var got []string
		for _, name := range slices.Sorted(maps.Keys(s)) {
			got = append(got, name+" at "+s[name].Source)
		}
		if strings.Join(got, "; ") != test.want || err != nil {
			t.Errorf("%s: %v, %v; want %s", test.name, got, err, test.want)
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"one.yaml":          crdYAML("{type: object}"),
		"sub/two.yml":       strings.ReplaceAll(crdYAML("{type: object}"), "orders", "sales"),
		"kustomization.yml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
		"notes.txt":         "{",
		"none/a.yaml":       "apiVersion: v1\nkind: Secret\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]int{".": 2, "one.yaml": 1, "sub": 1} {
		if s, err := Read(filepath.Join(dir, path)); len(s) != want || err != nil {
			t.Errorf("%s: %d CRDs, %v; want %d", path, len(s), err, want)
		}
	}
	if _, err := Read(filepath.Join(dir, "none")); !errors.Is(err, ErrNoCRD) {
		t.Errorf("none: %v", err)
	}
	if _, err := Read(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := Read(filepath.Join(dir, "notes.txt")); err == nil {
		t.Error("notes.txt: no error")
	}
}

// FuzzAdd adds arbitrary text. An accepted set equals itself, and its comparison with another set
// is deterministic and does not panic.
func FuzzAdd(f *testing.F) {
	f.Add([]byte(crdYAML("{type: object, properties: {x: {type: array, items: {type: string, enum: [a]}}}}")))
	f.Add([]byte("---\n--- {}\n---\na: [1\n"))
	f.Add([]byte("{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [{}]}"))
	f.Add([]byte("{} [] {"))
	f.Add([]byte("apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: List, items: [null]}]\n"))
	f.Add([]byte(crdYAML(`{default: {a: [1, {b: null}]}, anyOf: [{}, {not: {type: object}}], additionalProperties: false, x-kubernetes-list-map-keys: [b, a]}`)))
	base := parse(f, crdYAML("{type: object, properties: {x: {type: integer, maximum: 5}}, required: [x]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := Set{}
		if s.Add("x", data) != nil {
			return
		}
		if c := Diff(s, s); len(c) > 0 {
			t.Errorf("changes to itself: %v", c)
		}
		for _, pair := range [][2]Set{{s, base}, {base, s}} {
			if a, b := Diff(pair[0], pair[1]), Diff(pair[0], pair[1]); !slices.Equal(a, b) {
				t.Errorf("%v, then %v", a, b)
			}
		}
	})
}
