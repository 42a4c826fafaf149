// Package policies has the controllers that aggregate ClusterRoles, and that compute the usage of ResourceQuotas.
package policies

import (
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
)

// Roles returns the controller that writes the rules of ClusterRoles with an aggregation rule.
func Roles(control.Options) control.Controller {
	user := control.ServiceAccount("clusterrole-aggregation-controller")
	return &control.Keyed{Title: "clusterrole-aggregation-controller", Map: func(s *control.State, c control.Change, add func(string)) {
		if c.In(calls.Roles) {
			for key, r := range control.List[rbacv1.ClusterRole](s, calls.Roles, "") {
				if r.AggregationRule != nil {
					add(key)
				}
			}
		}
	}, Reconcile: func(_ time.Time, s *control.State, key string) control.Result {
		r := control.Get[rbacv1.ClusterRole](s, key)
		if r == nil || r.AggregationRule == nil {
			return control.Result{}
		}
		var all []*rbacv1.ClusterRole
		for _, x := range control.List[rbacv1.ClusterRole](s, calls.Roles, "") {
			all = append(all, x)
		}
		rules := gather(r, all)
		if equality.Semantic.DeepEqual(rules, r.Rules) {
			return control.Result{}
		}
		c := &calls.Calls{User: user}
		c.PatchAt(r, nil, map[string]any{"rules": rules})
		return control.Result{Requests: c.List}
	}}
}

// gather returns the rules of the roles that a role selects, each once, ordered by selector and name of the role.
func gather(r *rbacv1.ClusterRole, all []*rbacv1.ClusterRole) []rbacv1.PolicyRule {
	out := []rbacv1.PolicyRule{}
	for i := range r.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&r.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			continue
		}
		for _, x := range all {
			if x.Name == r.Name || !selector.Matches(labels.Set(x.Labels)) {
				continue
			}
			for _, rule := range x.Rules {
				if !has(out, rule) {
					out = append(out, rule)
				}
			}
		}
	}
	return out
}

func has(rules []rbacv1.PolicyRule, rule rbacv1.PolicyRule) bool {
	for _, r := range rules {
		if equality.Semantic.DeepEqual(r, rule) {
			return true
		}
	}
	return false
}
