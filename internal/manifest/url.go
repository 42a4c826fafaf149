package manifest

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ByURL returns the objects with each Service reference replaced by a URL below base, such as
// "https://127.0.0.1:9443". It covers webhook configurations and the conversion of CRDs. The API
// server then reaches a program that runs outside of the cluster. Paths are kept. The given objects
// do not change.
func ByURL(objs []Object, base string) []Object {
	base = strings.TrimSuffix(base, "/")
	out := make([]Object, len(objs))
	for i, o := range objs {
		o = o.DeepCopy()
		out[i] = o
		EachHook(o, func(hook map[string]any) { callURL(hook, base) })
	}
	return out
}

// EachHook calls change for each webhook of a webhook configuration, and for that of a CRD.
func EachHook(o Object, change func(hook map[string]any)) {
	hooks, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
	for _, h := range hooks {
		if h, ok := h.(map[string]any); ok {
			change(h)
		}
	}
	if hooks != nil {
		_ = unstructured.SetNestedSlice(o.Object, hooks, "webhooks")
	}
	if hook, ok, _ := unstructured.NestedMap(o.Object, "spec", "conversion", "webhook"); ok {
		change(hook)
		_ = unstructured.SetNestedMap(o.Object, hook, "spec", "conversion", "webhook")
	}
}

// callURL replaces the Service reference of one webhook by a URL.
func callURL(hook map[string]any, base string) {
	config, _ := hook["clientConfig"].(map[string]any)
	service, ok := config["service"].(map[string]any)
	if !ok {
		return
	}
	path, _ := service["path"].(string)
	delete(config, "service")
	config["url"] = base + path
}

// Converts reports whether a CRD converts between its versions by a webhook.
func Converts(crd Object) bool {
	s, _, _ := unstructured.NestedString(crd.Object, "spec", "conversion", "strategy")
	return s == "Webhook"
}

// WithoutCalls returns the objects without webhook configurations, and CRDs without conversion by
// webhook. They can be applied where no program answers webhooks.
func WithoutCalls(objs []Object) []Object {
	var out []Object
	for _, o := range objs {
		switch o.GetKind() {
		case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
			continue
		case "CustomResourceDefinition":
			if Converts(o) {
				o = o.DeepCopy()
				_ = unstructured.SetNestedMap(o.Object, map[string]any{"strategy": "None"}, "spec", "conversion")
			}
		}
		out = append(out, o)
	}
	return out
}
