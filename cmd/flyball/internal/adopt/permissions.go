package adopt

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrlrbac "sigs.k8s.io/controller-tools/pkg/rbac"

	"github.com/flyball-io/flyball/ops/rbac"
	"github.com/flyball-io/flyball/scheme"
)

// marker is an RBAC marker in the code.
type marker struct {
	file string
	rule ctrlrbac.Rule
}

// readMarkers reads the RBAC markers of the whole project: they all go into one role.
func (r *reader) readMarkers(pkgs []*packages.Package) {
	for _, pkg := range pkgs {
		for _, file := range pkg.Syntax {
			s := r.scope(pkg, file)
			for _, group := range file.Comments {
				for _, c := range group.List {
					text := strings.TrimSpace(strings.TrimPrefix(c.Text, "//"))
					if !strings.HasPrefix(text, "+kubebuilder:rbac:") {
						continue
					}
					value, err := ctrlrbac.RuleDefinition.Parse(text)
					rule, ok := value.(ctrlrbac.Rule)
					if err != nil || !ok {
						r.plan.Problems = append(r.plan.Problems, s.at(c)+": the marker cannot be read")
						continue
					}
					name, _, _ := strings.Cut(s.at(c), ":")
					r.markers = append(r.markers, marker{name, rule})
				}
			}
		}
	}
}

// permissions returns those of a marker.
func (m *marker) permissions() (all []rbac.Permission) {
	for _, group := range m.rule.Groups {
		if group == "core" {
			group = ""
		}
		for _, resource := range m.rule.Resources {
			verbs := m.rule.Verbs
			if slices.Contains(verbs, "*") {
				verbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
			}
			for _, verb := range verbs {
				all = append(all, rbac.Permission{Verb: verb, Group: group, Resource: resource})
			}
		}
	}
	return all
}

// usage is what a controller uses.
type usage struct {
	*reader
	all     map[rbac.Permission]bool
	instead map[rbac.Permission]bool // what Flyball's API needs
	unknown map[string]bool
}

// resource returns the resource of a kind.
func (u *usage) resource(k kind) (schema.GroupResource, bool) {
	if !k.known() {
		return schema.GroupResource{}, false
	}
	for _, r := range u.project.Resources {
		if r.Path == k.path && r.Kind == k.name && (r.Group != "" || r.Domain != "") && !strings.HasPrefix(r.Path, "k8s.io/") {
			return schema.GroupResource{Group: r.FullGroup(), Resource: r.plural()}, true
		}
	}
	gvk, ok := builtIn()[k.path+"."+k.name]
	if !ok {
		if u.unknown == nil {
			u.unknown = map[string]bool{}
		}
		u.unknown[k.shown] = true
		return schema.GroupResource{}, false
	}
	guess, _ := meta.UnsafeGuessKindToResource(gvk)
	return guess.GroupResource(), true
}

// builtIn are the kinds of Kubernetes by their Go types.
var builtIn = sync.OnceValue(func() map[string]schema.GroupVersionKind {
	out := map[string]schema.GroupVersionKind{}
	for gvk, t := range scheme.New().AllKnownTypes() {
		if strings.HasPrefix(t.PkgPath(), "k8s.io/api/") {
			out[t.PkgPath()+"."+t.Name()] = gvk
		}
	}
	return out
})

func (u *usage) permissions(k kind, sub string, verbs []string) (all []rbac.Permission) {
	r, ok := u.resource(k)
	if !ok {
		return nil
	}
	if sub != "" {
		r.Resource += "/" + sub
	}
	for _, v := range verbs {
		all = append(all, rbac.Permission{Verb: v, Group: r.Group, Resource: r.Resource})
	}
	return all
}

// uses adds requests for objects of a kind.
func (u *usage) uses(k kind, sub string, verbs ...string) {
	if u.all == nil {
		u.all = map[rbac.Permission]bool{}
	}
	for _, p := range u.permissions(k, sub, verbs) {
		u.all[p] = true
	}
}

func (u *usage) watches(k kind) { u.uses(k, "", "get", "list", "watch") }

// then adds requests that Flyball's API makes instead.
func (u *usage) then(k kind, sub string, verbs ...string) {
	if u.instead == nil {
		u.instead = map[rbac.Permission]bool{}
	}
	for _, p := range u.permissions(k, sub, verbs) {
		u.instead[p] = true
	}
}

func (u *usage) events() {
	if u.all == nil {
		u.all = map[rbac.Permission]bool{}
	}
	if u.instead == nil {
		u.instead = map[rbac.Permission]bool{}
	}
	for _, verb := range []string{"create", "patch"} {
		u.all[rbac.Permission{Verb: verb, Resource: "events"}] = true
		u.instead[rbac.Permission{Verb: verb, Group: "events.k8s.io", Resource: "events"}] = true
	}
}

// compare compares what is used with the markers in these files and in the project.
func (u *usage) compare(files []string) Permissions {
	var here, project []rbac.Permission
	for _, m := range u.markers {
		all := m.permissions()
		project = append(project, all...)
		if slices.Contains(files, m.file) {
			here = append(here, all...)
		}
	}
	granted := rbac.Of(project...)
	used := rbac.Of(slices.Collect(maps.Keys(u.all))...)
	var out Permissions
	out.Markers = lines(rbac.Of(here...).Permissions())
	out.Missing = lines(rbac.Missing(granted, used))
	out.Then = lines(rbac.Missing(granted, rbac.Of(slices.Collect(maps.Keys(u.instead))...)))
	var unused []rbac.Permission
	for _, p := range rbac.Excess(rbac.Of(here...), used) {
		// Owner references need the permission for finalizers, and no request shows it.
		if !strings.HasSuffix(p.Resource, "/finalizers") {
			unused = append(unused, p)
		}
	}
	if len(u.unknown) == 0 { // else they may be what is used
		out.Unused = lines(unused)
	}
	out.Unknown = slices.Sorted(maps.Keys(u.unknown))
	return out
}

// lines joins permissions that differ in their verb alone.
func lines(all []rbac.Permission) []string {
	var order []string
	verbs := map[string][]string{}
	for _, p := range all {
		key := strings.TrimPrefix(p.String(), p.Verb+" ")
		if verbs[key] == nil {
			order = append(order, key)
		}
		verbs[key] = append(verbs[key], p.Verb)
	}
	var out []string
	for _, key := range order {
		out = append(out, strings.Join(verbs[key], ";")+" "+key)
	}
	return out
}
