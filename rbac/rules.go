package rbac

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Rules are a set of permissions. They are immutable. The zero value grants nothing.
type Rules struct {
	all []Permission // sorted, without duplicates and without permissions that another one covers
}

// InvalidError says which rule is invalid, and why.
type InvalidError struct {
	// Rule is the index of the rule, from 0.
	Rule int
	// Field is the field of the rule, such as "verbs".
	Field   string
	Problem string
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("rules[%d].%s: %s", e.Rule, e.Field, e.Problem)
}

// Of returns the rules that grant these permissions.
func Of(permissions ...Permission) Rules {
	all := slices.Clone(permissions)
	slices.SortFunc(all, Permission.Compare)
	all = slices.Compact(all)
	whole := map[Permission]bool{}
	for _, p := range all {
		if p.Name == "" {
			whole[p] = true
		}
	}
	return Rules{slices.DeleteFunc(all, func(p Permission) bool {
		named := p.Name != ""
		p.Name = ""
		return named && whole[p]
	})}
}

// New returns the rules of a Role or ClusterRole. The error is an *InvalidError for a "*", for a
// required list that is empty, and for a rule with both resources and URLs.
func New(rules ...rbacv1.PolicyRule) (Rules, error) {
	var all []Permission
	for i, r := range rules {
		if err := check(i, r); err != nil {
			return Rules{}, err
		}
		for _, verb := range r.Verbs {
			for _, url := range r.NonResourceURLs {
				all = append(all, Permission{Verb: verb, URL: url})
			}
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					p := Permission{Verb: verb, Group: group, Resource: resource}
					if len(r.ResourceNames) == 0 {
						all = append(all, p)
					}
					for _, p.Name = range r.ResourceNames {
						all = append(all, p)
					}
				}
			}
		}
	}
	return Of(all...), nil
}

func check(i int, r rbacv1.PolicyRule) error {
	fields := []struct {
		name   string
		values []string
	}{{"verbs", r.Verbs}, {"apiGroups", r.APIGroups}, {"resources", r.Resources}, {"nonResourceURLs", r.NonResourceURLs}, {"resourceNames", r.ResourceNames}}
	for _, f := range fields {
		for _, v := range f.values {
			switch {
			case f.name == "nonResourceURLs" && strings.HasSuffix(v, "*"), v == "*", f.name == "resources" && strings.Contains(v, "*"):
				return &InvalidError{i, f.name, fmt.Sprintf("%q grants what nobody has named: name it", v)}
			case v == "" && f.name != "apiGroups":
				return &InvalidError{i, f.name, "has an empty name"}
			}
		}
	}
	urls := len(r.NonResourceURLs) > 0
	switch {
	case len(r.Verbs) == 0:
		return &InvalidError{i, "verbs", "is empty"}
	case urls && (len(r.APIGroups) > 0 || len(r.Resources) > 0 || len(r.ResourceNames) > 0):
		return &InvalidError{i, "nonResourceURLs", "stand beside resources"}
	case !urls && len(r.APIGroups) == 0:
		return &InvalidError{i, "apiGroups", `is empty: the core group is ""`}
	case !urls && len(r.Resources) == 0:
		return &InvalidError{i, "resources", "is empty"}
	}
	return nil
}

// Permissions returns all permissions that the rules grant, sorted. A permission for one object is
// left out if the same is granted for all.
func (r Rules) Permissions() []Permission { return slices.Clone(r.all) }

// Empty reports whether the rules grant nothing.
func (r Rules) Empty() bool { return len(r.all) == 0 }

// Union returns rules that grant every permission of the given ones.
func Union(rules ...Rules) Rules {
	var all []Permission
	for _, r := range rules {
		all = append(all, r.all...)
	}
	return Of(all...)
}

// Covers reports whether the rules grant a permission, for its name or for all names.
func (r Rules) Covers(p Permission) bool {
	if _, ok := slices.BinarySearchFunc(r.all, p, Permission.Compare); ok {
		return true
	}
	p.Name = ""
	_, ok := slices.BinarySearchFunc(r.all, p, Permission.Compare)
	return ok
}

// Missing returns the permissions of need that have does not grant.
func Missing(have, need Rules) []Permission {
	return slices.DeleteFunc(need.Permissions(), have.Covers)
}

// Excess returns the permissions of have that need does not contain. A permission for all objects
// is in excess if need has it for some objects only. See [Narrowed] for the opposite.
func Excess(have, need Rules) []Permission {
	return slices.DeleteFunc(have.Permissions(), need.Covers)
}

// Narrowed replaces permissions of need for all objects by those of have for named objects, where
// have grants only these. A [Recorder] and the features record no names, so need may be too wide. A
// program that passed its tests with the rights of have needs no others. Neither [Missing] nor
// [Excess] then lists these permissions.
func Narrowed(need, have Rules) Rules {
	var all []Permission
	for _, p := range need.all {
		var named []Permission
		if p.Name == "" && !have.Covers(p) {
			for _, h := range have.all {
				if of := (Permission{Verb: h.Verb, Group: h.Group, Resource: h.Resource, URL: h.URL}); of == p {
					named = append(named, h)
				}
			}
		}
		if len(named) == 0 {
			named = []Permission{p}
		}
		all = append(all, named...)
	}
	return Of(all...)
}

// PolicyRules returns the rules for a role: few rules, and the same ones for the same permissions.
// A resource stands in one rule for each set of names. Resources with the same verbs share a rule.
func (r Rules) PolicyRules() []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, p := range r.all { // the verbs of one resource are adjacent
		one := rbacv1.PolicyRule{Verbs: []string{p.Verb}}
		if p.URL != "" {
			one.NonResourceURLs = []string{p.URL}
		} else {
			one.APIGroups, one.Resources = []string{p.Group}, []string{p.Resource}
		}
		if p.Name != "" {
			one.ResourceNames = []string{p.Name}
		}
		if n := len(out) - 1; n >= 0 && equalExcept(out[n], one, "verbs") {
			out[n].Verbs = append(out[n].Verbs, p.Verb)
			continue
		}
		out = append(out, one)
	}
	for _, field := range []string{"resourceNames", "resources", "apiGroups", "nonResourceURLs"} {
		out = merge(out, field)
	}
	slices.SortFunc(out, func(a, b rbacv1.PolicyRule) int {
		for _, f := range []string{"nonResourceURLs", "apiGroups", "resources", "resourceNames", "verbs"} {
			if c := slices.Compare(*list(&a, f), *list(&b, f)); c != 0 {
				return c
			}
		}
		return 0
	})
	return out
}

// merge merges rules that differ only in one field.
func merge(rules []rbacv1.PolicyRule, field string) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, r := range rules {
		i := slices.IndexFunc(out, func(o rbacv1.PolicyRule) bool { return mergeable(o, r, field) })
		if i < 0 {
			out = append(out, r)
			continue
		}
		values := list(&out[i], field)
		*values = append(*values, *list(&r, field)...)
		slices.Sort(*values)
		*values = slices.Compact(*values)
	}
	return out
}

// mergeable reports whether two rules can be merged in one field. A rule without names covers all
// objects and is never merged by name. A rule for URLs has no other lists.
func mergeable(a, b rbacv1.PolicyRule, field string) bool {
	return equalExcept(a, b, field) && len(*list(&a, field)) > 0 && len(*list(&b, field)) > 0
}

// equalExcept reports whether two rules agree in all lists except one.
func equalExcept(a, b rbacv1.PolicyRule, but string) bool {
	for _, f := range []string{"verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"} {
		if f != but && !slices.Equal(*list(&a, f), *list(&b, f)) {
			return false
		}
	}
	return true
}

func list(r *rbacv1.PolicyRule, field string) *[]string {
	switch field {
	case "verbs":
		return &r.Verbs
	case "apiGroups":
		return &r.APIGroups
	case "resources":
		return &r.Resources
	case "resourceNames":
		return &r.ResourceNames
	}
	return &r.NonResourceURLs
}
