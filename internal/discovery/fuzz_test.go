package discovery

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// No document makes discovery panic, and both mappers agree on each kind of it.
func FuzzDiscovery(f *testing.F) {
	for _, doc := range []string{
		`{"items":[{"metadata":{"name":"a"},"versions":[{"version":"v1","freshness":"Stale","resources":[{"resource":"xs","responseKind":{"kind":"X"},"scope":"Namespaced"}]}]}]}`,
		`{"groups":[{"name":"a","versions":[{"version":"v1"}],"preferredVersion":{"version":"v1"}}]}`,
		`{"versions":["v1"]}`, `{"resources":[{"name":"xs","kind":"X","namespaced":true,"singularName":""}]}`, `{"items":[null]}`, `{"a`,
	} {
		f.Add(true, doc)
		f.Add(false, doc)
	}
	f.Fuzz(func(t *testing.T, whole bool, doc string) {
		core, err := ReadCore(whole, strings.NewReader(doc))
		if err != nil {
			core = nil
		}
		others, err := ReadGroups(whole, strings.NewReader(doc))
		if err != nil {
			others = nil
		}
		resources, _ := ReadResources(whole, strings.NewReader(doc))
		s := &Served{Groups: append(append(core, others...), Group{Name: "fuzz", Versions: []Version{{Name: "v1", Resources: resources}}})}
		seen := map[schema.GroupVersion]bool{}
		for _, g := range s.Groups {
			for _, v := range g.Versions {
				gv := schema.GroupVersion{Group: g.Name, Version: v.Name}
				if seen[gv] {
					return // the complete mapper finds such kinds ambiguous
				}
				seen[gv] = true
			}
		}
		for _, g := range s.Groups {
			for _, v := range g.Versions {
				for _, r := range v.Resources {
					sameMapping(t, s, schema.GroupVersionKind{Group: g.Name, Version: v.Name, Kind: r.Kind})
				}
			}
		}
	})
}

// sameMapping compares the quick answer with that of the complete mapper.
func sameMapping(t *testing.T, s *Served, gvk schema.GroupVersionKind) {
	t.Helper()
	if gvk.Version == "" || gvk.Version == "__internal" {
		return
	}
	want, err := s.Mapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	got := s.Mapping(gvk)
	if (got == nil) != (err != nil) || got != nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: %+v, want %+v, %v", gvk, got, want, err)
	}
}
