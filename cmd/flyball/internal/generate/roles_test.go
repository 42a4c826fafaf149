package generate

import (
	"fmt"

	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-tools/pkg/rbac"
)

// roleOf returns what a marker's rule becomes before it is arranged.
func roleOf(namespace, name string, rule rbacv1.PolicyRule) any {
	if namespace == "" {
		r := rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{rule}}
		r.Name = name
		return r
	}
	r := rbacv1.Role{Rules: []rbacv1.PolicyRule{rule}}
	r.Name, r.Namespace = name, namespace
	return r
}

// Whatever names and namespaces markers have: each rule is in one role of its name, in its namespace, none is lost, no
// two roles are the same object after config/default has put them into its namespace, and the bound role is there.
func TestEveryRuleIsInItsRole(t *testing.T) {
	t.Parallel()
	const deployed = "shop-system"
	names := []string{"manager-role", "reader", "writer"}
	for _, o := range []Options{
		{},
		{HookNamespace: "system", DeployNamespace: deployed},
		{HookNamespace: "system", DeployNamespace: deployed, RoleNamespace: "system"},
	} {
		namespaces := []string{"", "system", deployed, "other", "third"}
		if o.DeployNamespace != "" {
			namespaces = namespaces[:3] // the others are refused
		}
		o.RoleName = "manager-role"
		p := &project{Options: o}
		for mask := 1; mask < 1<<6; mask++ {
			var objects []any
			type place struct{ namespace, name string }
			want := map[string]place{}
			for i := range 12 {
				if mask>>(i%6)&1 == 0 {
					continue
				}
				namespace, name := namespaces[(i*7+mask)%len(namespaces)], names[(i+mask)%len(names)]
				rule := rbacv1.PolicyRule{Resources: []string{fmt.Sprint("r", i)}, Verbs: []string{"get"}}
				at := namespace
				if namespace == "" && i%4 == 3 {
					rule = rbacv1.PolicyRule{NonResourceURLs: []string{fmt.Sprint("r", i)}, Verbs: []string{"get"}}
				} else if namespace == "" {
					at = o.RoleNamespace
				} else if namespace == deployed && o.DeployNamespace != "" {
					at = "system"
				}
				objects = append(objects, roleOf(namespace, name, rule))
				want[fmt.Sprint("r", i)] = place{at, name}
			}
			seen, got := map[string]bool{}, map[string]place{}
			for _, r := range p.arranged(objects) {
				if (r.Kind == "Role") != (r.Namespace != "") {
					t.Errorf("%s %q in %q", r.Kind, r.Name, r.Namespace)
				}
				id := r.Kind + " " + r.Name
				if o.DeployNamespace == "" {
					id += " " + r.Namespace
				}
				if seen[id] {
					t.Errorf("%+v: %s is there twice", o, id)
				}
				seen[id] = true
				for _, rule := range r.Rules {
					got[append(rule.Resources, rule.NonResourceURLs...)[0]] = place{r.Namespace, r.Name}
				}
			}
			for rule, at := range want {
				if got[rule] != at {
					t.Errorf("%+v: rule %s is in %v, want %v", o, rule, got[rule], at)
				}
			}
			bound := "ClusterRole manager-role"
			if o.RoleNamespace != "" {
				bound = "Role manager-role"
			}
			if o.DeployNamespace != "" && !seen[bound] {
				t.Errorf("%+v: no %s: %v", o, bound, seen)
			}
		}
	}
}

// A marker of a namespace that config/default would replace is a problem where it stands.
func TestNamespaceOfAMarker(t *testing.T) {
	t.Parallel()
	for namespace, wrong := range map[string]bool{"": false, "system": false, "shop-system": false, "other": true} {
		p := &project{Options: Options{HookNamespace: "system", DeployNamespace: "shop-system"}, marks: []*mark{{value: rbac.Rule{Namespace: namespace}, def: rbac.RuleDefinition}}}
		if got := len(p.checkNamespaces()) > 0; got != wrong {
			t.Errorf("namespace=%s is a problem: %t, want %t", namespace, got, wrong)
		}
		p.DeployNamespace = ""
		if out := p.checkNamespaces(); len(out) > 0 {
			t.Errorf("namespace=%s without a kustomization that replaces it: %v", namespace, out)
		}
	}
}
