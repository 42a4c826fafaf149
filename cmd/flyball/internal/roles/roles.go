// Package roles makes the ClusterRole of a program from the permissions that package rbac found.
package roles

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/flyball-io/flyball/ops/rbac"
)

// ClusterRole returns the YAML of a ClusterRole that grants the rules.
func ClusterRole(name string, r rbac.Rules) []byte {
	rules := policyRules(r)
	if rules == nil {
		rules = []rbacv1.PolicyRule{}
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": rbacv1.SchemeGroupVersion.String(), "kind": "ClusterRole", "metadata": map[string]any{"name": name}, "rules": rules,
	})
	if err != nil { // maps and strings always encode
		panic(err)
	}
	return text
}

// Followed adds get for each resource that the rules both list and watch. A cache needs all three,
// as with [rbac.Declared].
func Followed(r rbac.Rules) rbac.Rules {
	all := r.Permissions()
	for _, p := range r.Permissions() {
		list := p
		list.Verb = "list"
		if p.Verb == "watch" && r.Covers(list) {
			p.Verb = "get"
			all = append(all, p)
		}
	}
	return rbac.Of(all...)
}

// Narrowed replaces permissions of need for all objects by those of have for named objects, where
// have grants only these. A [rbac.Recorder] and the features record no names, so need may be too wide. A
// program that passed its tests with the rights of have needs no others. Neither [rbac.Missing]
// nor [rbac.Excess] then lists these permissions.
func Narrowed(need, have rbac.Rules) rbac.Rules {
	var all []rbac.Permission
	for _, p := range need.Permissions() {
		var named []rbac.Permission
		if p.Name == "" && !have.Covers(p) {
			for _, h := range have.Permissions() {
				if of := (rbac.Permission{Verb: h.Verb, Group: h.Group, Resource: h.Resource, URL: h.URL}); of == p {
					named = append(named, h)
				}
			}
		}
		if len(named) == 0 {
			named = []rbac.Permission{p}
		}
		all = append(all, named...)
	}
	return rbac.Of(all...)
}

// policyRules returns the rules for a role: few rules, and the same ones for the same permissions.
// A resource stands in one rule for each set of names. Resources with the same verbs share a rule.
func policyRules(r rbac.Rules) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, p := range r.Permissions() { // the verbs of one resource are adjacent
		one := p.Rule()
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
