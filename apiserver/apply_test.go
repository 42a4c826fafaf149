package apiserver_test

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
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
