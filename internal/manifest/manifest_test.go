package manifest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func names(objs []Object) []string {
	var out []string
	for _, o := range objs {
		out = append(out, Name(o))
	}
	return out
}

const two = `# a comment alone
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: web}
data: {n: "1"}
---
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec: {replicas: 3}
`

func TestDecodeReadsAllDocuments(t *testing.T) {
	objs, err := Decode("x.yaml", strings.NewReader(two))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ConfigMap web/a", "Deployment d"}, names(objs)); diff != "" {
		t.Error(diff)
	}
	if n := objs[1].Object["spec"].(map[string]any)["replicas"]; n != int64(3) {
		t.Errorf("a number is a %T, want an int64", n)
	}
}

// JSON objects need no separator between them, and none is dropped. A text that begins like JSON
// may be YAML.
func TestDecodeReadsConcatenatedJSON(t *testing.T) {
	objs, err := Decode("x.json", strings.NewReader(`{"apiVersion":"v1","kind":"A","metadata":{"name":"a"},"n":3}
{"apiVersion":"v1","kind":"B","metadata":{"name":"b"}}
---
{apiVersion: v1, kind: C, metadata: {name: c}}
---
{}
`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"A a", "B b", "C c"}, names(objs)); diff != "" {
		t.Error(diff)
	}
	if n := objs[0].Object["n"]; n != int64(3) {
		t.Errorf("a number is a %T, want an int64", n)
	}
}

// A list, as kubectl prints it, yields its items.
func TestDecodeReadsListItems(t *testing.T) {
	objs, err := Decode("x.yaml", strings.NewReader("apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A, metadata: {name: a}}\n- {apiVersion: v1, kind: B, metadata: {name: b}}\n"))
	if diff := cmp.Diff([]string{"A a", "B b"}, names(objs)); diff != "" || err != nil {
		t.Error(err, diff)
	}
	_, err = Decode("x.yaml", strings.NewReader("apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A, metadata: {name: a}}\n- {apiVersion: v1, kind: B}\n"))
	if err == nil || !strings.Contains(err.Error(), "item 1") {
		t.Error(err)
	}
}

// Every error names the file and the document.
func TestDecodeErrorsNameFileAndDocument(t *testing.T) {
	for _, bad := range []string{
		"a: b: c",
		"- a list",
		"hello",
		"kind: ConfigMap\nmetadata: {name: x}",
		"apiVersion: v1\nmetadata: {name: x}",
		"apiVersion: v1\nkind: ConfigMap",
		"apiVersion: v1\nkind: ConfigMap\nkind: Secret\nmetadata: {name: x}",
		`{"apiVersion":"v1","kind":"A","kind":"B","metadata":{"name":"x"}}`,
		`{"apiVersion":"v1","kind":"A","metadata":{"name":"x"}} and more`,
		`{"apiVersion":"v1","kind":"A","metadata":{"name":"x"}}{`,
	} {
		_, err := Decode("x.yaml", strings.NewReader("apiVersion: v1\nkind: A\nmetadata: {name: a}\n---\n"+bad))
		if err == nil || !strings.HasPrefix(err.Error(), "x.yaml: document 2: ") {
			t.Errorf("%q: %v", bad, err)
		}
		if strings.Contains(fmt.Sprint(err), "map[string]interface") {
			t.Errorf("%q: the error names a type of Go: %v", bad, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(two))
	f.Add([]byte("{}"))
	f.Add([]byte("---\n&a [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		objs, err := Decode("x", bytes.NewReader(text))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := Write(&out, objs); err != nil {
			t.Fatal(err)
		}
		again, err := Decode("y", &out)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if diff := cmp.Diff(objs, again); diff != "" {
			t.Error(diff)
		}
		ByURL(WithoutCalls(Sorted(objs)), "https://127.0.0.1")
	})
}

func TestReadSkipsKustomizationsAndSubfolders(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"b.yaml": two, "a.json": `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}`,
		"kustomization.yaml": "resources: []", "notes.txt": "a: b: c", "sub/c.yaml": two,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	objs, err := Read(dir, filepath.Join(dir, "b.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Secret s", "ConfigMap web/a", "Deployment d", "ConfigMap web/a", "Deployment d"}
	if diff := cmp.Diff(want, names(objs)); diff != "" {
		t.Error(diff)
	}
	if _, err := Read(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// A mounted ConfigMap and a build that gathers files have links in place of files.
func TestReadFollowsLinks(t *testing.T) {
	elsewhere, dir := filepath.Join(t.TempDir(), "x.txt"), t.TempDir()
	if err := os.WriteFile(elsewhere, []byte(two), 0o666); err != nil {
		t.Fatal(err)
	}
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(elsewhere, "a.yaml")
	link(filepath.Dir(elsewhere), "folder.yaml")
	link("user@host.1", ".#a.yaml") // an editor has the file open
	objs, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ConfigMap web/a", "Deployment d"}, names(objs)); diff != "" {
		t.Error(diff)
	}
	link("nowhere", "b.yaml")
	if _, err := Read(dir); !os.IsNotExist(err) || !strings.Contains(err.Error(), "b.yaml") {
		t.Errorf("a link that leads nowhere: %v", err)
	}
}

const hooks = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: v}
webhooks:
- name: a
  clientConfig: {service: {name: s, namespace: space, path: /validate-a}, caBundle: eA==}
- name: b
  clientConfig: {url: "https://elsewhere/b"}
---
apiVersion: v1
kind: Service
metadata: {name: s}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: c}
spec:
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: s, namespace: space, path: /convert}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: space}
`

func TestSortedPutsDependenciesFirst(t *testing.T) {
	objs, err := Decode("", strings.NewReader(hooks))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Namespace space", "CustomResourceDefinition c", "Service s", "ValidatingWebhookConfiguration v"}
	if diff := cmp.Diff(want, names(Sorted(objs))); diff != "" {
		t.Error(diff)
	}
}

func TestByURLReplacesServices(t *testing.T) {
	objs, err := Decode("", strings.NewReader(hooks))
	if err != nil {
		t.Fatal(err)
	}
	var before, after, none bytes.Buffer
	if err := Write(&before, objs); err != nil {
		t.Fatal(err)
	}
	if err := Write(&after, ByURL(objs, "https://127.0.0.1:1/")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"url: https://127.0.0.1:1/validate-a", "url: https://elsewhere/b", "url: https://127.0.0.1:1/convert", "caBundle: eA=="} {
		if !strings.Contains(after.String(), want) {
			t.Errorf("no %q in\n%s", want, after.String())
		}
	}
	if strings.Contains(after.String(), "service:") {
		t.Errorf("a Service is called in\n%s", after.String())
	}
	rest := WithoutCalls(objs)
	if err := Write(&none, rest); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(names(rest), "ValidatingWebhookConfiguration v") || strings.Contains(none.String(), "clientConfig") {
		t.Errorf("there are calls in\n%s", none.String())
	}
	var still bytes.Buffer
	if err := Write(&still, objs); err != nil || still.String() != before.String() {
		t.Errorf("the objects changed: %v\n%s", err, still.String())
	}
}
