package discovery

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Served has the groups, versions and resources of a server. It takes about a hundred bytes for each
// resource. It is immutable after its discovery.
type Served struct {
	Groups []Group // the core group first, then the others in the order of the server
}

// Group is a group of a server.
type Group struct {
	Name      string
	Preferred string    // empty: the first version whose resources are known
	Versions  []Version // in the order of the server
}

// Version is a version of a group.
type Version struct {
	Name string
	// Err is the error of reading the resources. Resources are then those of an earlier discovery,
	// if there was one.
	Err       error
	Resources []Resource // nil: unknown
}

// Resource is a resource of a group version.
type Resource struct {
	Plural, Singular, Kind string
	Namespaced             bool
}

// add adds a resource. It skips subresources, which have no mapping.
func (v *Version) add(r Resource) {
	if !strings.Contains(r.Plural, "/") {
		v.Resources = append(v.Resources, r)
	}
}

// Version returns a group version, or nil if the server does not have it.
func (s *Served) Version(gv schema.GroupVersion) *Version {
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Name != gv.Group {
			continue
		}
		if j := slices.IndexFunc(g.Versions, func(v Version) bool { return v.Name == gv.Version }); j >= 0 {
			return &g.Versions[j]
		}
	}
	return nil
}

// Unlisted returns the wanted group versions whose resources nobody has asked for: those of plain documents.
func (s *Served) Unlisted(want func(schema.GroupVersion) bool) (all []schema.GroupVersion) {
	for _, g := range s.Groups {
		for _, v := range g.Versions {
			if gv := (schema.GroupVersion{Group: g.Name, Version: v.Name}); v.Err == ErrUnlisted && want(gv) {
				all = append(all, gv)
			}
		}
	}
	return all
}

// With returns s with what was read of one group version. If that failed, it keeps the resources it had.
func (s *Served) With(gv schema.GroupVersion, resources []Resource, err error) *Served {
	now := &Served{Groups: slices.Clone(s.Groups)}
	for i := range now.Groups {
		if g := &now.Groups[i]; g.Name == gv.Group {
			g.Versions = slices.Clone(g.Versions)
		}
	}
	if v := now.Version(gv); v != nil {
		v.Err = err
		if resources != nil {
			v.Resources = resources
		}
	}
	return now
}

// Keep copies from old the resources that this discovery has not read.
func (s *Served) Keep(old *Served) {
	for i := range s.Groups {
		g := &s.Groups[i]
		for j := range g.Versions {
			v := &g.Versions[j]
			if v.Err == nil {
				continue
			}
			if was := old.Version(schema.GroupVersion{Group: g.Name, Version: v.Name}); was != nil {
				v.Resources = was.Resources
			}
		}
	}
}

// Mapping returns the resource of a kind, or nil if it is not served. Like the mapper of kubectl it also
// takes the kind in lower case. It takes List and the kinds of lists, too, and guesses their resources.
func (s *Served) Mapping(gvk schema.GroupVersionKind) *meta.RESTMapping {
	v := s.Version(gvk.GroupVersion())
	if v == nil || v.Resources == nil {
		return nil
	}
	found := func(gvr schema.GroupVersionResource, scope meta.RESTScope) *meta.RESTMapping {
		return &meta.RESTMapping{Resource: gvr, GroupVersionKind: gvk, Scope: scope}
	}
	guess, _ := meta.UnsafeGuessKindToResource(gvk)
	if gvk.Kind == "List" {
		return found(guess, meta.RESTScopeRoot)
	}
	for _, r := range slices.Backward(v.Resources) { // the last of two resources with one kind wins
		switch gvk.Kind {
		case r.Kind + "List":
			return found(guess, r.scope())
		case r.Kind, strings.ToLower(r.Kind):
			return found(gvk.GroupVersion().WithResource(r.Plural), r.scope())
		}
	}
	return nil
}

func (r Resource) scope() meta.RESTScope {
	if r.Namespaced {
		return meta.RESTScopeNamespace
	}
	return meta.RESTScopeRoot
}

// Mapper makes a complete [meta.RESTMapper] that answers like the discovery mapper of kubectl. It takes
// some kilobytes for each resource.
func (s *Served) Mapper() meta.RESTMapper {
	all := meta.MultiRESTMapper{}
	order := []schema.GroupVersion{{Version: "v1"}}
	for i := range s.Groups {
		g := &s.Groups[i]
		known := slices.DeleteFunc(slices.Clone(g.Versions), func(v Version) bool { return v.Resources == nil })
		for _, v := range known {
			gv := schema.GroupVersion{Group: g.Name, Version: v.Name}
			all = append(all, v.mapper(gv))
		}
		for _, preferred := range []bool{true, false} {
			for _, v := range known {
				if (v.Name == g.Preferred) == preferred {
					order = append(order, schema.GroupVersion{Group: g.Name, Version: v.Name})
				}
			}
		}
	}
	first := meta.PriorityRESTMapper{Delegate: all}
	for _, gv := range order {
		first.ResourcePriority = append(first.ResourcePriority, gv.WithResource(meta.AnyResource))
		first.KindPriority = append(first.KindPriority, gv.WithKind(meta.AnyKind))
	}
	return first
}

// mapper makes a [meta.RESTMapper] of the resources of one group version.
func (v *Version) mapper(gv schema.GroupVersion) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{gv})
	for _, r := range v.Resources {
		plural, singular := gv.WithResource(r.Plural), gv.WithResource(r.Singular)
		if r.Singular == "" { // old servers do not send it
			_, singular = meta.UnsafeGuessKindToResource(gv.WithKind(r.Kind))
		}
		m.AddSpecific(gv.WithKind(strings.ToLower(r.Kind)), plural, singular, r.scope())
		m.AddSpecific(gv.WithKind(r.Kind), plural, singular, r.scope()) // resources map to the last one
		m.Add(gv.WithKind(r.Kind+"List"), r.scope())
	}
	m.Add(gv.WithKind("List"), meta.RESTScopeRoot)
	return m
}
