package policies

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The rules of the roles that are selected are gathered, each once, and not those of the role itself.
func TestGather(t *testing.T) {
	role := func(name, label string, verbs ...string) *rbacv1.ClusterRole {
		r := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"to": label}}}
		for _, v := range verbs {
			r.Rules = append(r.Rules, rbacv1.PolicyRule{Verbs: []string{v}})
		}
		return r
	}
	selector := func(label string) metav1.LabelSelector {
		return metav1.LabelSelector{MatchLabels: map[string]string{"to": label}}
	}
	r := role("r", "x", "own")
	r.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{selector("y"), selector("x")}}
	got := ""
	for _, rule := range gather(r, []*rbacv1.ClusterRole{role("a", "x", "get", "list"), role("b", "y", "watch", "get"), role("c", "z", "create"), r}) {
		got += rule.Verbs[0] + " "
	}
	if got != "watch get list " {
		t.Errorf("%s", got)
	}
}
