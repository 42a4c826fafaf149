package apiserver_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/test/apiserver"
)

const toyFiles = `apiVersion: example.com/v1
kind: Toy
metadata: {name: a, namespace: shop}
spec: {color: red}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: plain}
data: {k: v}
`

// Objects are applied in the order that they need, and again without a change.
func TestApply(t *testing.T) {
	s := apiserver.Start(t, apiserver.Options{})
	dir := folder(t, map[string]string{"a.yaml": toyFiles, "crd.yaml": toyCRD})
	s.Apply(dir)
	c := newClient(t, s)
	first, err := client.Get[corev1.ConfigMap](t.Context(), c, object.Key{Namespace: "default", Name: "plain"})
	if err != nil || first.Data["k"] != "v" || first.ManagedFields[0].Manager != "test" {
		t.Fatalf("got %+v, %v", first, err)
	}
	s.Apply(filepath.Join(dir, "a.yaml"))
	again, err := client.Get[corev1.ConfigMap](t.Context(), c, object.Key{Namespace: "default", Name: "plain"})
	if err != nil || again.ResourceVersion != first.ResourceVersion {
		t.Errorf("a second Apply has changed the object: %+v, %v", again, err)
	}
}

func TestApplyOfWhatIsNotThere(t *testing.T) {
	for text, want := range map[string]string{
		"":     "no objects",
		"x: [": "a.yaml",
		"apiVersion: example.com/v1\nkind: Toy\nmetadata: {name: a}\n":         "Toy a: ",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: 1}\n": "ConfigMap default/a",
	} {
		f := &fatal{TB: t}
		s := apiserver.Start(f, apiserver.Options{})
		func() {
			defer func() {
				if p := recover(); p != nil && p != any(f) {
					panic(p)
				}
			}()
			s.Apply(folder(t, map[string]string{"a.yaml": text}))
		}()
		if !strings.Contains(f.text, want) {
			t.Errorf("%q: the error does not have %q: %s", text, want, f.text)
		}
	}
}

// What people do with kubectl.
func TestKubectl(t *testing.T) {
	program, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("no kubectl is here")
	}
	s := apiserver.Start(t, apiserver.Options{})
	dir := folder(t, map[string]string{"toys.yaml": toyCRD, "objects.yaml": toyFiles, "deployment.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: i}]}
`})
	config := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(config, s.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ line, want string }{
		{"get namespaces", "NAME              STATUS   AGE"},
		{"get services", "kubernetes   ClusterIP   10.0.0.1"},
		{"apply -f toys.yaml", "toys.example.com created"},
		{"create namespace shop", "created"},
		{"apply -f objects.yaml", "configmap/plain created"},
		{"apply -f objects.yaml", "configmap/plain unchanged"},
		{"apply --server-side -f deployment.yaml", "deployment.apps/web serverside-applied"},
		{"get deployment web", "web    0/1     0            0"},
		{"scale deployment web --replicas=3", "scaled"},
		{"get deployment web -o wide", "0/3"},
		{"patch deployment web --type=merge -p {\"spec\":{\"paused\":true}}", "patched"},
		{"rollout resume deployment web", "resumed"},
		{"describe deployment web", "Replicas:               3 desired"},
		{"explain deployment.spec.replicas", "Number of desired pods"},
		{"explain toy.spec", "color"},
		{"api-resources --api-group=example.com", "toys"},
		{"get toys -n shop -o jsonpath={.items[0].spec.color}", "red"},
		{"get toy a -n shop", "NAME   AGE"},
		{"auth can-i delete pods", "yes"},
		{"label configmap plain a=b", "labeled"},
		{"annotate configmap plain a=b", "annotated"},
		{"create configmap other --from-literal=a=b", "created"},
		{"get configmaps -l a=b -o name", "configmap/plain"},
		{"run p --image=i", "pod/p created"},
		{"get pods", "p      0/1     Pending   0"},
		{"wait pod p --for=jsonpath={.status.phase}=Pending --timeout=10s", "condition met"},
		{"events", "No events found"},
		{"delete configmap plain", "deleted"},
		{"delete deployment web --cascade=orphan --wait=false", "deleted"},
		{"version", "Server Version: v1.36"},
	} {
		cmd := exec.CommandContext(t.Context(), program, strings.Fields(step.line)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "KUBECONFIG="+config, "HOME="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), step.want) {
			t.Errorf("kubectl %s: %v\n%swant %q", step.line, err, out, step.want)
		}
	}
}
