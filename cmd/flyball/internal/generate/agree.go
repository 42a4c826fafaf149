package generate

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
)

// storageMarker declares a version to be the stored one.
const storageMarker = "kubebuilder:storageversion"

// ordered returns the versions in the order in which their markers about the whole kind apply. The stored version is
// the last one, so that its markers hold.
func (k *kind) ordered() []*version {
	rank := func(v *version) int {
		if v.mark(storageMarker) != nil {
			return 1
		}
		return 0
	}
	out := slices.Clone(k.versions)
	slices.SortStableFunc(out, func(a, b *version) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a.name, b.name))
	})
	return out
}

// settle applies the markers about the whole kind once more, in a fixed order. The generator applies those of different
// versions in a random one.
func (k *kind) settle(d *extv1.CustomResourceDefinition) error {
	for _, v := range k.ordered() {
		for _, m := range v.marks {
			var err error
			switch value := m.value.(type) {
			case crdmarkers.Resource:
				err = value.ApplyToCRD(&d.Spec, v.name)
			case crdmarkers.Metadata:
				err = value.ApplyToCRD(d, v.name)
			}
			if err != nil {
				return err
			}
		}
	}
	d.Name = d.Spec.Names.Plural + "." + d.Spec.Group
	return nil
}

// agree warns of markers about the whole kind that differ between its versions. It rejects those that cannot be read.
func (p *project) agree(k *kind) (problems Problems) {
	metadata := map[string]*mark{}
	var resource *mark
	var before extv1.CustomResourceDefinitionSpec
	for _, v := range k.ordered() {
		var last *mark
		var spec extv1.CustomResourceDefinitionSpec
		for _, m := range v.marks {
			switch value := m.value.(type) {
			case crdmarkers.Resource:
				if value.ApplyToCRD(&spec, v.name) == nil { // it never fails
					last = m
				}
			case crdmarkers.Metadata:
				problems = append(problems, p.agreeOn(k, metadata, m, "annotation", value.Annotations)...)
				problems = append(problems, p.agreeOn(k, metadata, m, "label", value.Labels)...)
			}
		}
		if last == nil {
			continue
		}
		if resource != nil && !reflect.DeepEqual(before, spec) {
			p.warn(last.at, last.name(), "%s: differs from the one at %s, and this one holds; give it on one version only", k, resource.at)
		}
		resource, before = last, spec
	}
	return problems
}

// agreeOn compares pairs of a marker with those of versions before. The map has the marker of each.
func (p *project) agreeOn(k *kind, known map[string]*mark, m *mark, what string, pairs []string) (problems Problems) {
	for _, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		if !ok {
			problems = append(problems, problemf(m.at, m.name(), "%s %q: must be key=value", what, pair))
			continue
		}
		id := what + " " + key
		if before := known[id]; before != nil && !strings.Contains(before.text, key+"="+text) {
			p.warn(m.at, m.name(), "%s: %s differs from the one at %s, and this one holds", k, id, before.at)
		}
		known[id] = m
	}
	return problems
}
