package generate

import (
	"cmp"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
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
	return document(objects...)
}

// emptyRole returns a role that grants nothing.
func emptyRole(name string) ([]byte, error) {
	return document(rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules:      []rbacv1.PolicyRule{},
	})
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
			if other := seen[v.Name]; other != nil {
				problems = append(problems, problemf(m.at, m.name(), "name=%s: the webhook at %s has that name too", v.Name, other.at))
			}
			seen[v.Name] = m
			var err error
			if v.Mutating {
				var w admissionv1.MutatingWebhook
				w, err = v.ToMutatingWebhook()
				mutating.Webhooks = append(mutating.Webhooks, w)
			} else {
				var w admissionv1.ValidatingWebhook
				w, err = v.ToValidatingWebhook()
				validating.Webhooks = append(validating.Webhooks, w)
			}
			if err != nil {
				problems = append(problems, problemf(m.at, m.name(), "%v", err))
			}
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
