package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/cmd/flyball/internal/kustomize"
	"github.com/flyball-io/flyball/internal/manifest"
)

// everywhere has a word in all places that are no namespaces: whole, and as a part of other words.
const everywhere = `apiVersion: v1
kind: ConfigMap
metadata:
  name: WORD
  labels: {WORD: WORD, x: WORD.example.com}
  annotations: {WORD.example.com/WORD: WORD, text: "a WORD, WORD/b and b.WORD.svc"}
data: {WORD: WORD, host: x.WORD.svc, WORD.yaml: "namespace: WORD\nresources: FlyballChartBlock\n", FlyballChartNamespace: FlyballChartXImage}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.WORD.example.com}
spec:
  group: WORD.example.com
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {WORD: {type: string, default: WORD, enum: [WORD, a/WORD]}}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: WORD-grants}
rules:
- {apiGroups: [WORD, WORD.example.com], resources: [WORD, WORD/status], resourceNames: [WORD], verbs: [get]}
- {nonResourceURLs: [/WORD, /WORD/x], verbs: [get]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: other-WORD, labels: {app: WORD}}
spec:
  selector: {matchLabels: {app: WORD}}
  template:
    metadata: {labels: {app: WORD}}
    spec:
      nodeSelector: {WORD: WORD}
      containers:
      - name: x-WORD
        image: registry.example/WORD/WORD:WORD
        args: [WORD, --x=WORD, --y=WORD.example.com]
        env: [{name: WORD, value: WORD}, {name: URL, value: "https://x.WORD/WORD"}]
`

// built renders the sample's config/default with another namespace, and with the word everywhere.
func built(t *testing.T, namespace, word string) []manifest.Object {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "..", "..", "examples", "guestbook", "config"))); err != nil {
		t.Fatal(err)
	}
	change := func(name, old, replacement string) {
		name = filepath.Join(dir, name)
		text, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(text), old) {
			t.Fatalf("%s: no %q, %v", name, old, err)
		}
		if err := os.WriteFile(name, []byte(strings.ReplaceAll(string(text), old, replacement)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change("default/kustomization.yaml", "namespace: guestbook-system", fmt.Sprintf("namespace: %q", namespace))
	change("default/kustomization.yaml", "- ../crd\n", "- ../crd\n- everywhere.yaml\n")
	change("webhook/manifests.yaml", "  sideEffects: None\n", "  sideEffects: None\n  namespaceSelector:\n    matchExpressions:\n    - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, system]}\n    - {key: team, operator: In, values: [x"+word+"]}\n    - {key: off, operator: DoesNotExist}\n")
	if err := os.WriteFile(filepath.Join(dir, "default", "everywhere.yaml"), []byte(strings.ReplaceAll(everywhere, "WORD", word)), 0o600); err != nil {
		t.Fatal(err)
	}
	objs, err := kustomize.Build(filepath.Join(dir, "default"))
	if err != nil {
		t.Fatal(err)
	}
	return objs
}

// A chart that is rendered for another namespace is what kustomize makes for that one, whatever words a project has.
func TestChartIsKustomizeInAnotherNamespace(t *testing.T) {
	for _, namespace := range []string{"shop", "guestbook-system", "guestbook", "v1", "manager", "example", "apps", "a"} {
		for _, word := range []string{namespace, "x-" + namespace, namespace + "-x", "guestbook"} {
			for _, release := range []string{namespace + "-2"} {
				t.Run(namespace+"/"+word+"/"+release, func(t *testing.T) {
					o := guestbookOptions
					o.Namespace = namespace
					files, err := Files(built(t, namespace, word), o)
					if err != nil {
						t.Fatal(err)
					}
					want := byName(built(t, release, word))
					delete(want, "Namespace "+release)
					if diff := cmp.Diff(want, byName(rendered(t, files, release, nil))); diff != "" {
						t.Errorf("-kustomize +chart:\n%s", diff)
					}
				})
			}
		}
	}
}

// What kustomize does not know follows the release, too: the places of cert-manager and of Prometheus.
func TestNamespaceWhereKustomizeDoesNotKnow(t *testing.T) {
	const text = `apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: c, namespace: NS, annotations: {cert-manager.io/inject-ca-from: NS/c, other: NS/c}}
spec: {dnsNames: [a.NS.svc, a.NS.svc.cluster.local, NS.example.com, NS], commonName: a.NS.svc}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: m, namespace: NS}
spec: {namespaceSelector: {matchNames: [NS, other]}, endpoints: [{tlsConfig: {serverName: a.NS.svc}}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: net, namespace: NS}
spec: {ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS, x: NS}}}]}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: r}
rules: [{apiGroups: [""], resources: [namespaces], resourceNames: [NS], verbs: [get]}, {apiGroups: [""], resources: [pods], resourceNames: [NS], verbs: [get]}]
`
	decoded := func(text string) []manifest.Object {
		objs, err := manifest.Decode("", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return objs
	}
	const stays = "guestbook-system"
	files, err := Files(append(guestbook(t), decoded(strings.ReplaceAll(text, "NS", stays))...), guestbookOptions)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(text, "NS", "elsewhere")
	for from, to := range map[string]string{
		"other: elsewhere/c": "other: " + stays + "/c", "elsewhere.example.com, elsewhere]": stays + ".example.com, " + stays + "]",
		"x: elsewhere": "x: " + stays, "resources: [pods], resourceNames: [elsewhere]": "resources: [pods], resourceNames: [" + stays + "]",
	} {
		want = strings.Replace(want, from, to, 1)
	}
	got := byName(rendered(t, files, "elsewhere", nil))
	for _, o := range decoded(want) {
		if diff := cmp.Diff(o.Object, got[manifest.Name(o)]); diff != "" {
			t.Errorf("%s: -want +chart:\n%s", manifest.Name(o), diff)
		}
	}
}

// One name in two namespaces is two files.
func TestOneNameInTwoNamespaces(t *testing.T) {
	in := func(namespace string) manifest.Object {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x", "namespace": namespace}}}
	}
	if _, err := Files(append(guestbook(t), in("guestbook-system"), in("other")), guestbookOptions); err != nil {
		t.Error(err)
	}
}
