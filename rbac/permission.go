package rbac

import (
	"cmp"
	"slices"
	"strings"
)

// Permission is one thing that one may do.
type Permission struct {
	// Verb in the words of RBAC: get, list, watch, create, update, patch, delete,
	// deletecollection, or another that a resource has.
	Verb string
	// Group and Resource are what it is done to; the resource may have a subresource, as in
	// "deployments/status". The group is empty for the core API.
	Group, Resource string
	// Name is the one object that it is about; empty: all of them.
	Name string
	// URL is a path that is no resource, such as "/metrics"; then Group, Resource and Name are
	// empty.
	URL string
}

// String is the permission in the words of an error message: "patch deployments.apps/status",
// "get secrets \"tls\"", "get /metrics".
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

// Compare orders permissions by group, resource and name, and URLs after them; then by verb, in the
// order in which people write them.
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

// compareVerbs has those that every resource has first.
func compareVerbs(a, b string) int {
	rank := func(v string) int {
		if i := slices.Index(verbs, v); i >= 0 {
			return i
		}
		return len(verbs)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}
