package client

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// served has the groups, versions and resources of a server. It takes about a hundred bytes for each
// resource. It is immutable after its discovery.
type served struct {
	groups []servedGroup // the core group first, then the others in the order of the server
}

type servedGroup struct {
	name      string
	preferred string          // empty: the first version whose resources are known
	versions  []servedVersion // in the order of the server
}

type servedVersion struct {
	name string
	// err is the error of reading the resources. resources are then those of an earlier discovery,
	// if there was one.
	err       error
	resources []servedResource // nil: unknown
}

type servedResource struct {
	plural, singular, kind string
	namespaced             bool
}

// add adds a resource. It skips subresources, which have no mapping.
func (v *servedVersion) add(r servedResource) {
	if !strings.Contains(r.plural, "/") {
		v.resources = append(v.resources, r)
	}
}

// version returns a group version, or nil if the server does not have it.
func (s *served) version(gv schema.GroupVersion) *servedVersion {
	for i := range s.groups {
		g := &s.groups[i]
		if g.name != gv.Group {
			continue
		}
		if j := slices.IndexFunc(g.versions, func(v servedVersion) bool { return v.name == gv.Version }); j >= 0 {
			return &g.versions[j]
		}
	}
	return nil
}

// keep copies from old the resources that this discovery failed to read.
func (s *served) keep(old *served) {
	for i := range s.groups {
		g := &s.groups[i]
		for j := range g.versions {
			v := &g.versions[j]
			if v.err == nil {
				continue
			}
			if was := old.version(schema.GroupVersion{Group: g.name, Version: v.name}); was != nil {
				v.resources = was.resources
			}
		}
	}
}

// mapping returns the resource of a kind, or nil if it is not served. Like the mapper of kubectl it also
// takes the kind in lower case. It takes List and the kinds of lists, too, and guesses their resources.
func (s *served) mapping(gvk schema.GroupVersionKind) *meta.RESTMapping {
	v := s.version(gvk.GroupVersion())
	if v == nil || v.resources == nil {
		return nil
	}
	found := func(gvr schema.GroupVersionResource, scope meta.RESTScope) *meta.RESTMapping {
		return &meta.RESTMapping{Resource: gvr, GroupVersionKind: gvk, Scope: scope}
	}
	guess, _ := meta.UnsafeGuessKindToResource(gvk)
	if gvk.Kind == "List" {
		return found(guess, meta.RESTScopeRoot)
	}
	for _, r := range slices.Backward(v.resources) { // the last of two resources with one kind wins
		switch gvk.Kind {
		case r.kind + "List":
			return found(guess, r.scope())
		case r.kind, strings.ToLower(r.kind):
			return found(gvk.GroupVersion().WithResource(r.plural), r.scope())
		}
	}
	return nil
}

func (r servedResource) scope() meta.RESTScope {
	if r.namespaced {
		return meta.RESTScopeNamespace
	}
	return meta.RESTScopeRoot
}

// mapper makes a complete [meta.RESTMapper] that answers like the discovery mapper of kubectl. It takes
// some kilobytes for each resource.
func (s *served) mapper() meta.RESTMapper {
	all := meta.MultiRESTMapper{}
	order := []schema.GroupVersion{{Version: "v1"}}
	for i := range s.groups {
		g := &s.groups[i]
		known := slices.DeleteFunc(slices.Clone(g.versions), func(v servedVersion) bool { return v.resources == nil })
		for _, v := range known {
			gv := schema.GroupVersion{Group: g.name, Version: v.name}
			all = append(all, v.mapper(gv))
		}
		slices.SortStableFunc(known, func(a, b servedVersion) int {
			return preference(g, a) - preference(g, b)
		})
		for _, v := range known {
			order = append(order, schema.GroupVersion{Group: g.name, Version: v.name})
		}
	}
	first := meta.PriorityRESTMapper{Delegate: all}
	for _, gv := range order {
		first.ResourcePriority = append(first.ResourcePriority, gv.WithResource(meta.AnyResource))
		first.KindPriority = append(first.KindPriority, gv.WithKind(meta.AnyKind))
	}
	return first
}

// preference is 0 for the version that the server prefers, else 1.
func preference(g *servedGroup, v servedVersion) int {
	if v.name == g.preferred {
		return 0
	}
	return 1
}

// mapper makes a [meta.RESTMapper] of the resources of one group version.
func (v *servedVersion) mapper(gv schema.GroupVersion) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{gv})
	for _, r := range v.resources {
		plural, singular := gv.WithResource(r.plural), gv.WithResource(r.singular)
		if r.singular == "" { // old servers do not send it
			_, singular = meta.UnsafeGuessKindToResource(gv.WithKind(r.kind))
		}
		m.AddSpecific(gv.WithKind(strings.ToLower(r.kind)), plural, singular, r.scope())
		m.AddSpecific(gv.WithKind(r.kind), plural, singular, r.scope()) // resources map to the last one
		m.Add(gv.WithKind(r.kind+"List"), r.scope())
	}
	m.Add(gv.WithKind("List"), meta.RESTScopeRoot)
	return m
}
