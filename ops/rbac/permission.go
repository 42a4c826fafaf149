package rbac

import (
	"cmp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Permission allows one verb on one resource, one object or one URL.
type Permission struct {
	// Verb is a verb of RBAC: get, list, watch, create, update, patch, delete, deletecollection, or
	// another that a resource has.
	Verb string
	// Group and Resource are the resource. It may have a subresource, as in "deployments/status".
	// The group is empty for the core API.
	Group, Resource string
	// Name is the name of one object. Empty means all objects.
	Name string
	// URL is a path that is not a resource, such as "/metrics". Group, Resource and Name are empty
	// then.
	URL string
}

// String returns the permission as in an error message: "patch deployments.apps/status", "get
// secrets \"tls\"", "get /metrics".
func (p Permission) String() string {
	if p.URL != "" {
		return p.Verb + " " + p.URL
	}
	resource, sub, _ := strings.Cut(p.Resource, "/")
	s := p.Verb + " " + resource
	if p.Group != "" {
		s += "." + p.Group
	}
	if sub != "" {
		s += "/" + sub
	}
	if p.Name != "" {
		s += ` "` + p.Name + `"`
	}
	return s
}

// Rule returns the permission as a rule of a role.
func (p Permission) Rule() rbacv1.PolicyRule {
	r := rbacv1.PolicyRule{Verbs: []string{p.Verb}}
	if p.URL != "" {
		r.NonResourceURLs = []string{p.URL}
		return r
	}
	r.APIGroups, r.Resources = []string{p.Group}, []string{p.Resource}
	if p.Name != "" {
		r.ResourceNames = []string{p.Name}
	}
	return r
}

// covers reports whether the permission, which may have a "*", grants q, as an API server judges.
func (p Permission) covers(q Permission) bool {
	if p.Verb != "*" && p.Verb != q.Verb || (p.URL == "") != (q.URL == "") {
		return false
	}
	if p.URL != "" {
		stem, open := strings.CutSuffix(p.URL, "*")
		return p.URL == q.URL || open && strings.HasPrefix(q.URL, stem)
	}
	if p.Group != "*" && p.Group != q.Group || p.Name != "" && p.Name != q.Name {
		return false
	}
	_, sub, _ := strings.Cut(q.Resource, "/")
	return p.Resource == "*" || p.Resource == q.Resource || sub != "" && p.Resource == "*/"+sub
}

// Compare orders permissions by group, resource and name, with URLs last. Equal ones are ordered by
// verb, in the customary order.
func (p Permission) Compare(q Permission) int {
	return cmp.Or(
		strings.Compare(p.URL, q.URL),
		strings.Compare(p.Group, q.Group),
		strings.Compare(p.Resource, q.Resource),
		strings.Compare(p.Name, q.Name),
		compareVerbs(p.Verb, q.Verb),
	)
}

var verbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

// compareVerbs puts the verbs that every resource has first.
func compareVerbs(a, b string) int {
	rank := func(v string) int {
		if i := slices.Index(verbs, v); i >= 0 {
			return i
		}
		return len(verbs)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}
