// Package kustomize renders kustomizations to objects, like "kubectl kustomize".
package kustomize

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// Build renders the kustomization in dir. It reads files outside dir if the kustomization names
// them. It fetches nothing, and runs no plugin that is not part of kustomize: a kustomization that
// needs that is a *NotLocalError. The objects are in an order in which they can be applied:
// namespaces and CRDs first, webhook configurations last.
func Build(dir string) ([]*unstructured.Unstructured, error) {
	o := krusty.MakeDefaultOptions()
	o.Reorder = krusty.ReorderOptionLegacy
	o.LoadRestrictions = types.LoadRestrictionsNone
	abs, err := filepath.Abs(dir) // a relative one may look like a repository: github.com/...
	if err != nil {
		return nil, err
	}
	files := &local{FileSystem: filesys.MakeFsOnDisk()}
	m, err := krusty.MakeKustomizer(o).Run(files, abs)
	if files.err != nil {
		return nil, files.err
	}
	if err != nil {
		return nil, fmt.Errorf("kustomize %s: %w", dir, err)
	}
	out := make([]*unstructured.Unstructured, 0, m.Size())
	for _, r := range m.Resources() {
		// The detour over JSON gives numbers the types of unstructured objects.
		text, err := r.MarshalJSON()
		o := &unstructured.Unstructured{}
		if err == nil {
			err = o.UnmarshalJSON(text)
		}
		if err != nil {
			return nil, fmt.Errorf("kustomize %s: %s: %w", dir, r.CurId(), err)
		}
		out = append(out, o)
	}
	return out, nil
}

// Namespace returns the namespace that the kustomization in dir gives to all of its objects, or "" if it gives none.
func Namespace(dir string) string {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		var k types.Kustomization
		if yaml.Unmarshal(data, &k) == nil {
			return k.Namespace
		}
	}
	return ""
}
