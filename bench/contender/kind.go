package contender

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/bench/corpus"
)

// AppLabel is the label by which objects are listed.
const AppLabel = "app.kubernetes.io/name"

// IndexPath is what the objects of a kind are indexed by, and the name of the index.
func IndexPath(r corpus.Resource) string {
	if r.GVK == Pod {
		return "spec.nodeName"
	}
	return "metadata.labels[" + AppLabel + "]"
}

// Pod is the kind that is indexed by the node.
var Pod = corev1.SchemeGroupVersion.WithKind("Pod")

// IndexValue is what an object is found by.
func IndexValue(o corpus.Object) string {
	switch o := o.(type) {
	case *corev1.Pod:
		return o.Spec.NodeName
	case *unstructured.Unstructured:
		if o.GroupVersionKind() == Pod {
			node, _, _ := unstructured.NestedString(o.Object, "spec", "nodeName")
			return node
		}
	}
	return o.GetLabels()[AppLabel]
}

// Blank is an empty object of the kind, as it is held.
func (o Options) Blank() corpus.Object {
	switch o.View {
	case Metadata:
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(o.Resource.GVK)
		return m
	case Unstructured:
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(o.Resource.GVK)
		return u
	}
	typed, err := corpus.Scheme.New(o.Resource.GVK)
	if err != nil {
		panic(err) // was asked for before
	}
	return typed.(corpus.Object)
}

// check reports what cannot be held.
func (o Options) check() error {
	switch o.View {
	case Typed:
		if _, err := corpus.Scheme.New(o.Resource.GVK); err != nil {
			return fmt.Errorf("view %s: there is no Go type for %s", o.View, o.Resource.GVK.Kind)
		}
	case Unstructured, Metadata:
	default:
		return fmt.Errorf("view %q: there are %s, %s and %s", o.View, Typed, Unstructured, Metadata)
	}
	return nil
}

// Mapper knows the one kind, so that nobody has to ask the server.
func (o Options) Mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	scope := meta.RESTScopeRoot
	if o.Resource.Namespaced {
		scope = meta.RESTScopeNamespace
	}
	m.AddSpecific(o.Resource.GVK, o.Resource.GVR, o.Resource.GVR, scope)
	return m
}
