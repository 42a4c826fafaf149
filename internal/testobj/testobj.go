// Package testobj makes objects for tests.
//
//	testobj.Pod("shop/web-1", testobj.Labels("app=web"), testobj.OnNode("n1"))
//	testobj.ConfigMap("shop/settings", testobj.Data("color", "blue"))
//
// The first argument is the key, "namespace/name", or the name alone. Options that do not fit the type
// panic.
package testobj

import (
	"encoding/json"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/store"
)

// Option changes a new object.
type Option func(object.Object)

// New sets the key of an object, and changes it by options. It returns the object.
func New[P object.Object](o P, key string, opts ...Option) P {
	namespace, name, ok := strings.Cut(key, "/")
	if !ok {
		namespace, name = "", key
	}
	o.SetNamespace(namespace)
	o.SetName(name)
	for _, opt := range opts {
		opt(o)
	}
	return o
}

// Pod returns a Pod.
func Pod(key string, opts ...Option) *corev1.Pod { return New(&corev1.Pod{}, key, opts...) }

// ConfigMap returns a ConfigMap.
func ConfigMap(key string, opts ...Option) *corev1.ConfigMap {
	return New(&corev1.ConfigMap{}, key, opts...)
}

// Secret returns a Secret.
func Secret(key string, opts ...Option) *corev1.Secret { return New(&corev1.Secret{}, key, opts...) }

// Service returns a Service.
func Service(key string, opts ...Option) *corev1.Service {
	return New(&corev1.Service{}, key, opts...)
}

// Node returns a Node.
func Node(name string, opts ...Option) *corev1.Node { return New(&corev1.Node{}, name, opts...) }

// Deployment returns a Deployment.
func Deployment(key string, opts ...Option) *appsv1.Deployment {
	return New(&appsv1.Deployment{}, key, opts...)
}

// CRD returns the definition of a namespaced kind whose objects may have any fields. The functions change its
// spec.
func CRD(gvk schema.GroupVersionKind, plural string, change ...func(spec map[string]any)) *unstructured.Unstructured {
	spec := map[string]any{
		"group": gvk.Group, "scope": "Namespaced",
		"names": map[string]any{"plural": plural, "singular": strings.ToLower(gvk.Kind), "kind": gvk.Kind, "listKind": gvk.Kind + "List"},
		"versions": []any{map[string]any{
			"name": gvk.Version, "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
		}},
	}
	for _, f := range change {
		f(spec)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + gvk.Group}, "spec": spec,
	}}
}

var builtIn = scheme.New()

// Entry returns the entry of an object of a built-in kind that came as JSON. It sets the kind of the object.
func Entry(o object.Object) *store.Entry {
	gvks, _, err := builtIn.ObjectKinds(o)
	gvk := must(gvks, err)[0]
	o.GetObjectKind().SetGroupVersionKind(gvk)
	return must(store.NewEntry(wire.Raw{Kind: &wire.Kind{GVK: gvk}, Encoding: wire.JSON, Bytes: must(json.Marshal(o))}))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Rule returns a rule of a Role. Groups, resources and verbs are separated by spaces.
func Rule(groups, resources, verbs string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: strings.Split(groups, " "), Resources: strings.Fields(resources), Verbs: strings.Fields(verbs), ResourceNames: names}
}

// Role returns the manifest of a role, without its name.
func Role(rules ...rbacv1.PolicyRule) []byte {
	return must(json.Marshal(map[string]any{"rules": append([]rbacv1.PolicyRule{}, rules...)}))
}

// Labels adds labels: "app=web".
func Labels(labels ...string) Option {
	return func(o object.Object) {
		all := o.GetLabels()
		if all == nil {
			all = map[string]string{}
		}
		for _, l := range labels {
			key, value, _ := strings.Cut(l, "=")
			all[key] = value
		}
		o.SetLabels(all)
	}
}

// UID sets the UID.
func UID(uid types.UID) Option { return func(o object.Object) { o.SetUID(uid) } }

// Version sets the resourceVersion.
func Version(v string) Option { return func(o object.Object) { o.SetResourceVersion(v) } }

// OwnedBy adds owner references.
func OwnedBy(owners ...metav1.OwnerReference) Option {
	return func(o object.Object) { o.SetOwnerReferences(append(o.GetOwnerReferences(), owners...)) }
}

// OnNode sets the node of a Pod.
func OnNode(name string) Option {
	return func(o object.Object) { o.(*corev1.Pod).Spec.NodeName = name }
}

// Data adds a value to a ConfigMap or a Secret.
func Data(key, value string) Option {
	return func(o object.Object) {
		if s, ok := o.(*corev1.Secret); ok {
			if s.Data == nil {
				s.Data = map[string][]byte{}
			}
			s.Data[key] = []byte(value)
			return
		}
		m := o.(*corev1.ConfigMap)
		if m.Data == nil {
			m.Data = map[string]string{}
		}
		m.Data[key] = value
	}
}
