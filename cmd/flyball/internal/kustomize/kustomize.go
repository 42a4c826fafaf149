// Package kustomize renders kustomizations to objects, as "kubectl kustomize" would.
package kustomize

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Build renders the kustomization in dir. Files outside dir are read where it names them; nothing
// is fetched from anywhere and no plugin runs. The objects come in the order in which they can be
// applied: namespaces and CRDs first, webhook configurations last.
func Build(dir string) ([]*unstructured.Unstructured, error) {
	o := krusty.MakeDefaultOptions()
	o.Reorder = krusty.ReorderOptionLegacy
	o.LoadRestrictions = types.LoadRestrictionsNone
	m, err := krusty.MakeKustomizer(o).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("kustomize %s: %w", dir, err)
	}
	out := make([]*unstructured.Unstructured, 0, m.Size())
	for _, r := range m.Resources() {
		// Through JSON, for numbers as unstructured objects have them.
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
