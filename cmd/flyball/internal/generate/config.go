package generate

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/rbac"
	"sigs.k8s.io/controller-tools/pkg/webhook"
)

// roles generates the ClusterRole and Roles, or nil if no marker asks for any.
func (p *project) roles() ([]byte, error) {
	objects, err := rbac.GenerateRoles(&genall.GenerationContext{Collector: p.collector, Roots: p.roots}, p.RoleName)
	if err != nil || len(objects) == 0 {
		return nil, err
	}
	if p.RoleNamespace != "" {
		objects = namespaced(objects, p.RoleNamespace)
	}
	return document(objects...)
}

// namespaced turns the rules of a ClusterRole into a Role in a namespace. Rules for URLs stay: no
// Role can have them.
func namespaced(objects []any, namespace string) []any {
	var out []any
	var moved []rbacv1.PolicyRule
	name := ""
	for _, o := range objects {
		cluster, ok := o.(rbacv1.ClusterRole)
		if !ok {
			out = append(out, o)
			continue
		}
		var stay []rbacv1.PolicyRule
		for _, r := range cluster.Rules {
			if len(r.NonResourceURLs) > 0 {
				stay = append(stay, r)
			} else {
				moved = append(moved, r)
			}
		}
		name = cluster.Name
		if cluster.Rules = stay; len(stay) > 0 {
			out = append(out, cluster)
		}
	}
	if name == "" {
		return out
	}
	for i, o := range out {
		if role, ok := o.(rbacv1.Role); ok && role.Namespace == namespace && role.Name == name {
			role.Rules = append(moved, role.Rules...)
			out[i] = role
			return out
		}
	}
	return append(out, rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Rules:      moved,
	})
}

// emptyRoleAt returns a role that grants nothing, or nil if the project has no roles, or the file is somebody else's.
func (p *project) emptyRoleAt(path string) ([]byte, error) {
	if _, err := os.Stat(filepath.Dir(path)); err != nil || p.foreign(path, nil) != "" {
		return nil, nil
	}
	kind := "ClusterRole"
	if p.RoleNamespace != "" {
		kind = "Role"
	}
	return document(rbacv1.ClusterRole{ // the fields of a Role are the same
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind},
		ObjectMeta: metav1.ObjectMeta{Name: p.RoleName, Namespace: p.RoleNamespace},
		Rules:      []rbacv1.PolicyRule{},
	})
}

// selection returns the namespaces for whose objects a webhook of these rules is called. Nil means
// all.
func (p *project) selection(rules []admissionv1.RuleWithOperations) *metav1.LabelSelector {
	names := func(op metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: corev1.LabelMetadataName, Operator: op, Values: values}}}
	}
	switch {
	case p.RoleNamespace != "":
		return names(metav1.LabelSelectorOpIn, p.RoleNamespace)
	case p.HookNamespace != "" && slices.ContainsFunc(rules, func(r admissionv1.RuleWithOperations) bool { return slices.ContainsFunc(r.APIGroups, isBuiltin) }):
		return names(metav1.LabelSelectorOpNotIn, metav1.NamespaceSystem, p.HookNamespace)
	}
	return nil
}

// both returns a selector for what each of two selects. Nil selects all.
func both(a, b *metav1.LabelSelector) *metav1.LabelSelector {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	out := a.DeepCopy()
	out.MatchExpressions = append(out.MatchExpressions, b.MatchExpressions...)
	for key, value := range b.MatchLabels {
		out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}})
	}
	return out
}

// isBuiltin reports whether a group is one of Kubernetes. Only those are without a dot.
func isBuiltin(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// webhooks generates the webhook configurations, or nil if no marker asks for any.
func (p *project) webhooks() ([]byte, error) {
	var problems Problems
	mutating := admissionv1.MutatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "MutatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: "mutating-webhook-configuration"},
	}
	validating := admissionv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: "validating-webhook-configuration"},
	}
	named := map[bool]*mark{}
	seen := map[string]*mark{}
	for _, m := range p.marks {
		switch v := m.value.(type) {
		case webhook.WebhookConfig:
			if other := named[v.Mutating]; other != nil && other.value != m.value {
				problems = append(problems, problemf(m.at, m.name(), "there is another one at %s", other.at))
			}
			named[v.Mutating] = m
			name := &validating.Name
			if v.Mutating {
				name = &mutating.Name
			}
			*name = cmp.Or(v.Name, *name)
		case webhook.Config:
			var err error
			name := v.Name // a patch may change it
			if v.Mutating {
				var w admissionv1.MutatingWebhook
				w, err = v.ToMutatingWebhook()
				w.NamespaceSelector = both(w.NamespaceSelector, p.selection(w.Rules))
				mutating.Webhooks = append(mutating.Webhooks, w)
				name = cmp.Or(w.Name, name)
			} else {
				var w admissionv1.ValidatingWebhook
				w, err = v.ToValidatingWebhook()
				w.NamespaceSelector = both(w.NamespaceSelector, p.selection(w.Rules))
				validating.Webhooks = append(validating.Webhooks, w)
				name = cmp.Or(w.Name, name)
			}
			if err != nil {
				problems = append(problems, problemf(m.at, m.name(), "%v", err))
			}
			if other := seen[name]; other != nil {
				problems = append(problems, problemf(m.at, m.name(), "name=%s: the webhook at %s has that name too", name, other.at))
			}
			seen[name] = m
		}
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	var objects []any
	if len(mutating.Webhooks) > 0 {
		slices.SortFunc(mutating.Webhooks, func(a, b admissionv1.MutatingWebhook) int { return strings.Compare(a.Name, b.Name) })
		objects = append(objects, mutating)
	}
	if len(validating.Webhooks) > 0 {
		slices.SortFunc(validating.Webhooks, func(a, b admissionv1.ValidatingWebhook) int { return strings.Compare(a.Name, b.Name) })
		objects = append(objects, validating)
	}
	if len(objects) == 0 {
		return nil, nil
	}
	return document(objects...)
}
