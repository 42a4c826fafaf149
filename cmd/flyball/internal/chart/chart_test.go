package chart

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/flyball-io/flyball/cmd/flyball/internal/kustomize"
	"github.com/flyball-io/flyball/internal/manifest"
)

// guestbook returns the objects of the sample.
func guestbook(t *testing.T) []manifest.Object {
	t.Helper()
	objs, err := kustomize.Build(filepath.Join("..", "..", "..", "..", "examples", "guestbook", "config", "default"))
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

var guestbookOptions = Options{Name: "guestbook", Version: "1.2.3", Namespace: "guestbook-system", Container: "manager"}

// rendered renders a chart as Helm does, with the functions that its templates use.
func rendered(t *testing.T, files map[string][]byte, namespace string, change func(values map[string]any)) []manifest.Object {
	t.Helper()
	var values, meta map[string]any
	if err := errors.Join(yaml.Unmarshal(files["values.yaml"], &values), yaml.Unmarshal(files["Chart.yaml"], &meta)); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(values)
	}
	functions := template.FuncMap{
		"toYaml": func(v any) (string, error) {
			text, err := yaml.Marshal(v)
			return strings.TrimSuffix(string(text), "\n"), err
		},
		"nindent": func(n int, text string) string {
			return "\n" + strings.Repeat(" ", n) + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", n))
		},
		"quote": func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
		"default": func(by, v any) any {
			if v == "" || v == nil {
				return by
			}
			return v
		},
	}
	var all []manifest.Object
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasPrefix(name, "templates/") {
			continue
		}
		tmpl, err := template.New(name).Funcs(functions).Option("missingkey=error").Parse(string(files[name]))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := tmpl.Execute(&out, map[string]any{
			"Values": values, "Release": map[string]any{"Namespace": namespace}, "Chart": map[string]any{"AppVersion": meta["appVersion"]},
		}); err != nil {
			t.Fatal(err)
		}
		objs, err := manifest.Decode(name, &out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out.Bytes())
		}
		all = append(all, objs...)
	}
	return all
}

// byName returns the objects without what means nothing, by their names.
func byName(objs []manifest.Object) map[string]any {
	out := map[string]any{}
	for _, o := range objs {
		o = o.DeepCopy()
		if manifest.IsCRD(o) {
			unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "helm.sh/resource-policy")
			if len(o.GetAnnotations()) == 0 {
				o.SetAnnotations(nil)
			}
		}
		if o.GetKind() == "Deployment" {
			pod, _, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec")
			for _, field := range []string{"affinity", "nodeSelector", "tolerations", "imagePullSecrets"} {
				if text := fmt.Sprint(pod[field]); text == "map[]" || text == "[]" {
					delete(pod, field)
				}
			}
			for _, c := range pod["containers"].([]any) {
				if m := c.(map[string]any); m["imagePullPolicy"] == "IfNotPresent" {
					delete(m, "imagePullPolicy")
				}
			}
			_ = unstructured.SetNestedMap(o.Object, pod, "spec", "template", "spec")
		}
		out[manifest.Name(o)] = o.Object
	}
	return out
}

// A release without values is what "flyball deploy" applies, without the namespace.
func TestSameAsDeployed(t *testing.T) {
	objs := guestbook(t)
	files, err := Files(objs, guestbookOptions)
	if err != nil {
		t.Fatal(err)
	}
	want := byName(objs)
	delete(want, "Namespace guestbook-system")
	if diff := cmp.Diff(want, byName(rendered(t, files, "guestbook-system", nil))); diff != "" {
		t.Errorf("-deployed +chart:\n%s", diff)
	}
	for name, data := range files {
		if !bytes.HasPrefix(data, []byte(Mark)) {
			t.Errorf("%s does not begin with the mark", name)
		}
	}
}

// Every place of the namespace is that of the release.
func TestNamespaceOfRelease(t *testing.T) {
	objs := guestbook(t)
	files, err := Files(objs, guestbookOptions)
	if err != nil {
		t.Fatal(err)
	}
	text := func(namespace string) string {
		var out bytes.Buffer
		if err := manifest.Write(&out, rendered(t, files, namespace, nil)); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if n := strings.Count(text("guestbook-system"), "guestbook-system"); n < 10 {
		t.Errorf("the namespace stands in %d places", n)
	}
	if elsewhere := text("elsewhere"); strings.Contains(elsewhere, "guestbook-system") {
		t.Errorf("the namespace of the project is left:\n%s", elsewhere)
	}
	// It may look like a number.
	rendered(t, files, "123", nil)
}

func TestValues(t *testing.T) {
	objs := guestbook(t)
	files, err := Files(objs, guestbookOptions)
	if err != nil {
		t.Fatal(err)
	}
	got := rendered(t, files, "elsewhere", func(values map[string]any) {
		values["image"] = map[string]any{"repository": "registry.example:5000/x", "tag": "", "digest": "", "pullPolicy": "Always"}
		values["replicas"] = 3
		values["args"] = []any{"--grace-period=20s"}
		values["resources"] = map[string]any{"limits": map[string]any{"memory": "1Gi"}}
		values["nodeSelector"] = map[string]any{"disk": "ssd"}
		values["imagePullSecrets"] = []any{map[string]any{"name": "mine"}}
		values["crds"] = map[string]any{"install": false}
	})
	for _, o := range got {
		if manifest.IsCRD(o) {
			t.Errorf("there is %s", manifest.Name(o))
		}
		if o.GetKind() != "Deployment" {
			continue
		}
		pod, _, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec")
		program := pod["containers"].([]any)[0].(map[string]any)
		args, _, _ := unstructured.NestedStringSlice(program, "args")
		replicas, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "replicas")
		for what, pair := range map[string][2]any{
			"image":            {program["image"], "registry.example:5000/x:dev"},
			"policy":           {program["imagePullPolicy"], "Always"},
			"last argument":    {args[len(args)-1], "--grace-period=20s"},
			"replicas":         {fmt.Sprint(replicas), "3"},
			"resources":        {fmt.Sprint(program["resources"]), "map[limits:map[memory:1Gi]]"},
			"nodeSelector":     {fmt.Sprint(pod["nodeSelector"]), "map[disk:ssd]"},
			"imagePullSecrets": {fmt.Sprint(pod["imagePullSecrets"]), "[map[name:mine]]"},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%s: %v, want %v", what, pair[0], pair[1])
			}
		}
	}
}

// Actions in texts of objects are texts of the chart, too.
func TestActionsInTexts(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x"}, "data": map[string]any{"text": "a {{ .Values.b }} c"},
	}}
	files, err := Files(append(guestbook(t), o), guestbookOptions)
	if err != nil {
		t.Fatal(err)
	}
	if got := byName(rendered(t, files, "elsewhere", nil))["ConfigMap x"]; !cmp.Equal(got, any(o.Object)) {
		t.Errorf("%v, want %v", got, o.Object)
	}
}

func TestNoDeployment(t *testing.T) {
	if _, err := Files(nil, guestbookOptions); !errors.Is(err, ErrNoDeployment) {
		t.Errorf("%v", err)
	}
}

func TestSplitImage(t *testing.T) {
	for name, want := range map[string][3]string{
		"shop":                     {"shop", "", ""},
		"shop:v1":                  {"shop", "v1", ""},
		"host:5000/shop":           {"host:5000/shop", "", ""},
		"host:5000/shop:v1":        {"host:5000/shop", "v1", ""},
		"host/shop:v1@sha256:abcd": {"host/shop", "v1", "sha256:abcd"},
	} {
		if got := splitImage(name); got["repository"] != want[0] || got["tag"] != want[1] || got["digest"] != want[2] {
			t.Errorf("%s: %v", name, got)
		}
	}
}
