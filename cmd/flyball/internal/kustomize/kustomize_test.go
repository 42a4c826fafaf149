package kustomize

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// The objects can be copied, so their numbers have the types of the API machinery.
func TestBuild(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"a/kustomization.yaml": "namePrefix: x-\nnamespace: web\nresources: [../b]\n",
		"b/kustomization.yaml": "resources: [d.yaml]\n",
		"b/d.yaml":             "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 3}\n",
	})
	objs, err := Build(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	o := objs[0].DeepCopy()
	if len(objs) != 1 || o.GetName() != "x-d" || o.GetNamespace() != "web" || o.Object["spec"].(map[string]any)["replicas"] != int64(3) {
		t.Errorf("%v", objs)
	}
}

func TestBuildBad(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"kustomization.yaml": "resources: [none.yaml]\n"})
	if _, err := Build(dir); err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("%v", err)
	}
}
