package operatortest

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/internal/manifest"
	"github.com/flyball-io/flyball/ops/cert"
)

// grants returns the roles among the objects and their bindings. The operator's service account is
// replaced by user. The names are unique, so that tests do not remove each other's permissions.
func grants(objs []manifest.Object, user, namespace string) []manifest.Object {
	var out []manifest.Object
	for _, o := range objs {
		if o.GroupVersionKind().Group != "rbac.authorization.k8s.io" {
			continue
		}
		o = o.DeepCopy()
		o.SetName(o.GetName() + "-" + namespace)
		if slices.Contains([]string{"Role", "RoleBinding"}, o.GetKind()) {
			o.SetNamespace(namespace)
		}
		if ref, ok, _ := unstructured.NestedStringMap(o.Object, "roleRef"); ok {
			ref["name"] += "-" + namespace
			_ = unstructured.SetNestedStringMap(o.Object, ref, "roleRef")
			_ = unstructured.SetNestedSlice(o.Object, []any{map[string]any{
				"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user,
			}}, "subjects")
		}
		out = append(out, o)
	}
	return out
}

// grantNames replaces renamed objects in the roles among the objects.
func grantNames(objs []manifest.Object, renamed map[string]string) {
	for _, o := range objs {
		rules, ok, _ := unstructured.NestedSlice(o.Object, "rules")
		if !ok || o.GroupVersionKind().Group != "rbac.authorization.k8s.io" {
			continue
		}
		for _, r := range rules {
			r, _ := r.(map[string]any)
			names, _ := r["resourceNames"].([]any)
			for i, name := range names {
				if name, ok := name.(string); ok && renamed[name] != "" {
					names[i] = renamed[name]
				}
			}
		}
		_ = unstructured.SetNestedSlice(o.Object, rules, "rules")
	}
}

// trusts makes the program write its CA into the object that calls it, as its flags do in a
// cluster.
func trusts(m *cert.ManagedOptions, call manifest.Object) {
	list := map[string]*[]string{
		"MutatingWebhookConfiguration": &m.Mutating, "ValidatingWebhookConfiguration": &m.Validating, "CustomResourceDefinition": &m.CRDs,
	}[call.GetKind()]
	if list != nil && !slices.Contains(*list, call.GetName()) {
		*list = append(slices.Clone(*list), call.GetName())
	}
}
