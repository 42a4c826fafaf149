package apiserver_test

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/tier"
)

const storyFiles = toyFiles + `---
apiVersion: v1
kind: ConfigMap
metadata: {name: held, namespace: shop, finalizers: [example.com/hold], labels: {a: b}}
data:
  script: |
    #!/bin/sh
    echo "<&>"
  odd: "\u2028\t\u0007\U0001f600"
binaryData: {b: AAEC}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: i, args: ["- a", "yes", "1", ""]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: shop}
spec: {nodeName: node, containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {type: NodePort, ports: [{port: 80}]}
---
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: web, apiVersion: apps/v1}}
`

// story makes a state with a bit of everything.
func story(t *testing.T, s *apiserver.Server) {
	t.Helper()
	s.Apply(folder(t, map[string]string{"a.yaml": storyFiles, "crd.yaml": toyCRD}))
	for _, r := range [][3]string{
		{"DELETE", "/api/v1/namespaces/shop/configmaps/held", ""},
		{"DELETE", "/api/v1/namespaces/shop/pods/p", ""},
		{"DELETE", "/api/v1/namespaces/default/configmaps/plain", ""},
		{"POST", "/api/v1/namespaces/shop/secrets", `{"metadata":{"generateName":"s-"},"stringData":{"k":"v"}}`},
		{"PATCH", "/apis/apps/v1/namespaces/shop/deployments/web/status", `{"status":{"replicas":1,"conditions":[{"type":"Available","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`},
	} {
		if code, text := ask(t, s, r[0], r[1], r[2]); code > 299 {
			t.Fatalf("%s %s: %d %s", r[0], r[1], code, text)
		}
	}
}

// ask sends one request.
func ask(t *testing.T, s *apiserver.Server, method, path, body string) (int, string) {
	t.Helper()
	c := &session{t: t, client: http.DefaultClient, url: s.URL()}
	kind := jsonType
	if method == "PATCH" {
		kind = mergePatch
	}
	code, _, text := c.send(method, path, body, "Content-Type", kind)
	return code, string(text)
}

func export(t *testing.T, s *apiserver.Server) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Export(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Another server goes on where the first one was: it answers the same, and its versions, uids and generated
// names do not repeat.
func TestExportAndImport(t *testing.T) {
	one := apiserver.Start(t, apiserver.Options{})
	story(t, one)
	text := export(t, one)
	two := apiserver.Start(t, apiserver.Options{})
	if err := two.Import(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(text, export(t, two)); d != "" {
		t.Errorf("the second export differs (-first +second):\n%s", d)
	}
	for _, path := range []string{
		"/api/v1/namespaces/shop/configmaps", "/api/v1/namespaces/shop/configmaps?labelSelector=a%3Db", "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode",
		"/api/v1/pods?fieldSelector=spec.nodeName%3Dother", "/apis/apps/v1/deployments", "/apis/autoscaling/v1/horizontalpodautoscalers", "/apis/example.com/v1/toys",
		"/apis/example.com/v1/namespaces/shop/toys/a", "/api/v1/namespaces/shop/services/web", "/api/v1/secrets", "/api/v1/namespaces", "/apis",
	} {
		if d := cmp.Diff(answerOf(t, one, path), answerOf(t, two, path)); d != "" {
			t.Errorf("%s (-first +second):\n%s", path, d)
		}
	}
	// What comes next is the same for both.
	for _, r := range [][3]string{
		{"POST", "/api/v1/namespaces/shop/secrets", `{"metadata":{"generateName":"s-"},"stringData":{"k":"v"}}`},
		{"POST", "/api/v1/namespaces/shop/services", `{"metadata":{"name":"next"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`},
		{"PATCH", "/api/v1/namespaces/shop/configmaps/held", `{"metadata":{"finalizers":null}}`},
		{"POST", "/apis/example.com/v1/namespaces/shop/toys", `{"apiVersion":"example.com/v1","kind":"Toy","metadata":{"name":"b"},"spec":{"color":1}}`},
	} {
		_, a := ask(t, one, r[0], r[1], r[2])
		_, b := ask(t, two, r[0], r[1], r[2])
		if d := cmp.Diff(timestamp.ReplaceAllString(a, "TIME"), timestamp.ReplaceAllString(b, "TIME")); d != "" {
			t.Errorf("%s %s (-first +second):\n%s", r[0], r[1], d)
		}
	}
	if code, body := ask(t, two, "GET", "/api/v1/namespaces?watch=1&resourceVersion=3", ""); !strings.Contains(body, `"code":410`) {
		t.Errorf("a watch of what was before: %d %s, want 410", code, body)
	}
}

func answerOf(t *testing.T, s *apiserver.Server, path string) string {
	t.Helper()
	code, text := ask(t, s, "GET", path, "")
	return fmt.Sprint(code, " ", text)
}

// People may write and change the documents.
func TestImportOfEditedFiles(t *testing.T) {
	s := apiserver.Start(t, apiserver.Options{})
	text := export(t, s)
	own := text + `---
# a comment
kind: ConfigMap
data: { k: 'v' }
apiVersion: v1
metadata: {uid: u, resourceVersion: "7", name: mine, namespace: default}
`
	if err := s.Import(strings.NewReader(own)); err != nil {
		t.Fatal(err)
	}
	if code, text := ask(t, s, "GET", "/api/v1/namespaces/default/configmaps", ""); code != 200 || !strings.Contains(text, `"data":{"k":"v"}`) {
		t.Errorf("%d %s", code, text)
	}
	for name, c := range map[string]struct{ text, want string }{
		"nothing":        {"", "no line \"format: flyball-state-1\""},
		"another file":   {"apiVersion: v1\nkind: Pod\n", "no line \"format: flyball-state-1\""},
		"no YAML":        {"a: [", "no line \"format: flyball-state-1\""},
		"next format":    {strings.Replace(text, "state-1", "state-2", 1), "its format is flyball-state-2, and this Flyball reads flyball-state-1"},
		"next version":   {strings.Replace(text, "kubernetes: v1.", "kubernetes: v1.9", 1), "it is of Kubernetes v1.9"},
		"no version":     {"format: flyball-state-1\nversion: 1\n", `document 1: it has no line "kubernetes:"`},
		"no number":      {"format: flyball-state-1\nkubernetes: v1.36.3\nversion: seven\n", "document 1: it cannot be read: "},
		"unknown key":    {"format: flyball-state-1\nkubernetes: v1.36.3\nversion: 7\ncraeted: {}\n", `document 1: json: unknown field "craeted"`},
		"unknown field":  {text + "---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: a, namespace: b, uid: u, resourceVersion: \"1\"}\ndate: {a: b}\n", `v1 ConfigMap b/a: it cannot be read: strict decoding error: unknown field "date"`},
		"field of a CRD": {strings.Replace(text, "---\n", "---\n"+strings.NewReplacer("metadata: {", `metadata: {uid: u, resourceVersion: "1", `, "scope:", "skope: x\n  scope:").Replace(toyCRD)+"---\n", 1), `unknown field "spec.skope"`},
		"bad document":   {own + "---\na: [\n", "document "},
		"number":         {text + "---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: a, namespace: b, uid: u, resourceVersion: \"1\"}\ndata: 1\n", "v1 ConfigMap b/a: it cannot be read: "},
		"kind":           {text + "---\nkind: Toy\napiVersion: example.com/v1\nmetadata: {name: a, uid: u, resourceVersion: \"1\"}\n", "example.com/v1 Toy a: its kind is not served"},
		"no name":        {text + "---\nkind: ConfigMap\napiVersion: v1\n", "v1 ConfigMap: it has no apiVersion, kind or metadata.name"},
		"never stored":   {text + "---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: a, namespace: b}\n", "it has no uid or resourceVersion"},
		"no namespace":   {text + "---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: a, uid: u, resourceVersion: \"1\"}\n", "it has no namespace"},
		"a namespace":    {text + "---\nkind: Node\napiVersion: v1\nmetadata: {name: a, namespace: b, uid: u, resourceVersion: \"1\"}\n", "its kind has no namespaces"},
		"twice":          {own + own[strings.LastIndex(own, "---"):], "it is the object of document "},
		"future":         {strings.Replace(own, `"7"`, `"70000"`, 1), "its resourceVersion 70000 is above the version of the state"},
		"late CRD":       {text + "---\n" + strings.Replace(toyCRD, "metadata: {", `metadata: {uid: u, resourceVersion: "1", `, 1), "definitions of custom resources come before all other objects"},
		"two problems":   {text + "---\nkind: ConfigMap\n---\nkind: Secret\n", "Secret"},
		"long document":  {text + "---\na: " + strings.Repeat("x", 17<<20), "it is longer than 16 MiB"},
	} {
		err := s.Import(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if code, _ := ask(t, s, "GET", "/api/v1/namespaces/default/configmaps/mine", ""); code != 200 {
		t.Errorf("an import that failed has changed the state: %d", code)
	}
}

// A server starts from a file of an export.
func TestOptionsState(t *testing.T) {
	one := apiserver.Start(t, apiserver.Options{})
	story(t, one)
	dir := folder(t, map[string]string{"state.yaml": export(t, one), "empty": ""})
	two := apiserver.Start(t, apiserver.Options{State: filepath.Join(dir, "state.yaml")})
	if d := cmp.Diff(export(t, one), export(t, two)); d != "" {
		t.Error(d)
	}
	// Definitions of a folder are merged into those of the file.
	crds := folder(t, map[string]string{"crd.yaml": strings.Replace(toyCRD, "default: blue", "default: green", 1)})
	three := apiserver.Start(t, apiserver.Options{State: filepath.Join(dir, "state.yaml"), CRDs: crds})
	if code, text := ask(t, three, "POST", "/apis/example.com/v1/namespaces/shop/toys", `{"apiVersion":"example.com/v1","kind":"Toy","metadata":{"name":"b"},"spec":{}}`); code != 201 || !strings.Contains(text, "green") {
		t.Errorf("%d %s", code, text)
	}
	for _, name := range []string{"none", "empty"} {
		if _, err := apiserver.New(t.Context(), apiserver.Options{State: filepath.Join(dir, name)}); err == nil || strings.Count(err.Error(), name) != 1 {
			t.Errorf("%s: %v, want an error that names the file once", name, err)
		}
	}
}

// BenchmarkState writes and reads a state of 10,000 Pods.
func BenchmarkState(b *testing.B) {
	s, err := apiserver.New(b.Context(), apiserver.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	text := manyPods(b, s, 10_000)
	b.Run("export", func(b *testing.B) {
		for b.Loop() {
			var out bytes.Buffer
			if err := s.Export(&out); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("import", func(b *testing.B) {
		for b.Loop() {
			if err := s.Import(bytes.NewReader(text)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// manyPods fills a server with copies of a Pod, and returns its state.
func manyPods(t testing.TB, s *apiserver.Server, n int) []byte {
	t.Helper()
	c := &session{t: t, client: http.DefaultClient, url: s.URL()}
	code, _, text := c.send("POST", "/api/v1/namespaces/default/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"app":"web"},"annotations":{"note":"a text\nof two lines"}},
		"spec":{"containers":[{"name":"c","image":"i","env":[{"name":"A","value":"b"}],"resources":{"requests":{"cpu":"100m","memory":"1Gi"}},"livenessProbe":{"httpGet":{"path":"/","port":80}}}]}}`)
	if code != 201 {
		t.Fatalf("%d %s", code, text)
	}
	var one bytes.Buffer
	if err := s.Export(&one); err != nil {
		t.Fatal(err)
	}
	before, pod, _ := strings.Cut(one.String(), "---\nkind: Pod\n")
	pod, after, _ := strings.Cut(pod, "---\n")
	var out bytes.Buffer
	out.WriteString(before)
	for i := range n {
		out.WriteString("---\nkind: Pod\n" + strings.Replace(pod, "  name: p\n", fmt.Sprintf("  name: p%d\n", i), 1))
	}
	if after != "" {
		out.WriteString("---\n" + after)
	}
	began := time.Now()
	if err := s.Import(bytes.NewReader(out.Bytes())); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d Pods, %d MB, imported in %v", n, out.Len()>>20, time.Since(began))
	return out.Bytes()
}

// A state that is read takes the memory of its objects, and little more.
func TestImportIsBounded(t *testing.T) {
	tier.Audit(t, "measures the heap")
	s := apiserver.Start(t, apiserver.Options{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text := manyPods(t, s, 5_000)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > int64(4*len(text)) {
		t.Errorf("%d bytes of text take %d of heap", len(text), grown)
	}
}
