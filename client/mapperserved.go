package client

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// served is what a server serves, as far as a [Mapper] needs to know: a hundred bytes or so for
// each resource. It does not change once it is known.
type served struct {
	groups []servedGroup // the core group first, the others in the order of the server
}

type servedGroup struct {
	name      string
	preferred string          // empty: the first of those whose resources are known
	versions  []servedVersion // in the order of the server
}

type servedVersion struct {
	name string
	// err says why its resources could not be learned. Resources are then those of before, if
	// there was a before.
	err       error
	resources []servedResource // nil: not known
}

type servedResource struct {
	plural, singular, kind string
	namespaced             bool
}

// add keeps a resource; subresources are not mapped.
func (v *servedVersion) add(r servedResource) {
	if !strings.Contains(r.plural, "/") {
		v.resources = append(v.resources, r)
	}
}

// version is nil for one that the server does not name.
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

// keep takes over from old what this discovery failed to learn.
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

// mapping finds the resource of a kind. Like the mapper of kubectl it also takes the kind in lower
// case, and List and the name of a list of objects as kinds, whose resources it guesses. It is nil
// for what is not served.
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
	for _, r := range slices.Backward(v.resources) { // of two with one kind the last counts
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

// mapper answers every question of a [meta.RESTMapper], in the way of the discovery mapper that
// kubectl has. It takes some kilobytes for each resource.
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

// mapper knows the resources of one group version.
func (v *servedVersion) mapper(gv schema.GroupVersion) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{gv})
	for _, r := range v.resources {
		plural, singular := gv.WithResource(r.plural), gv.WithResource(r.singular)
		if r.singular == "" { // old servers do not tell
			_, singular = meta.UnsafeGuessKindToResource(gv.WithKind(r.kind))
		}
		m.AddSpecific(gv.WithKind(strings.ToLower(r.kind)), plural, singular, r.scope())
		m.AddSpecific(gv.WithKind(r.kind), plural, singular, r.scope()) // the one that resources map to
		m.Add(gv.WithKind(r.kind+"List"), r.scope())
	}
	m.Add(gv.WithKind("List"), meta.RESTScopeRoot)
	return m
}
