package generate

import (
	"cmp"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-tools/pkg/webhook"
)

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
	seen := map[bool]map[string]*mark{true: {}, false: {}} // by mutating
	for _, m := range p.marks {
		switch v := m.value.(type) {
		case webhook.WebhookConfig:
			switch other := named[v.Mutating]; {
			case other != nil && other.pkg == m.pkg:
				problems = append(problems, problemf(m.at, m.name(), "there is another one at %s", other.at))
			case other != nil && other.value != m.value:
				p.warn(m.at, m.name(), "there is another one at %s, and this one holds", other.at)
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
			if other := seen[v.Mutating][name]; other != nil {
				problems = append(problems, p.rejected(problemf(m.at, m.name(), "name=%s: the webhook at %s has that name too", name, other.at))...)
			}
			seen[v.Mutating][name] = m
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
