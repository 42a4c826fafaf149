package contender

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/lab/bench/corpus"
)

// Kind is a kind to hold.
type Kind struct {
	corpus.Resource
	// View is the form in which the objects are held.
	View View
	// ContentType is the content type of lists.
	ContentType string
}

// AppLabel is the label for listing objects.
const AppLabel = "app.kubernetes.io/name"

// IndexPath is the field or label that the objects of a kind are indexed by, and the name of the
// index.
func IndexPath(r corpus.Resource) string {
	if r.GVK == Pod {
		return "spec.nodeName"
	}
	return "metadata.labels[" + AppLabel + "]"
}

// Pod is the kind that is indexed by the node.
var Pod = corev1.SchemeGroupVersion.WithKind("Pod")

// IndexValue returns the index value of an object.
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

// Blank returns an empty object of the kind, in the held form.
func (k Kind) Blank() corpus.Object {
	switch k.View {
	case Metadata:
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(k.GVK)
		return m
	case Unstructured:
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(k.GVK)
		return u
	}
	typed, err := corpus.Scheme.New(k.GVK)
	if err != nil {
		panic(err) // the scheme was checked before
	}
	return typed.(corpus.Object)
}

// check reports kinds that no contender can hold.
func (o Options) check() error {
	for _, k := range o.Kinds {
		switch k.View {
		case Typed:
			if _, err := corpus.Scheme.New(k.GVK); err != nil {
				return fmt.Errorf("view %s: there is no Go type for %s", k.View, k.GVK.Kind)
			}
		case Unstructured, Metadata:
		default:
			return fmt.Errorf("view %q: there are %s, %s and %s", k.View, Typed, Unstructured, Metadata)
		}
	}
	return nil
}

// Mapper returns a mapper for the kinds, so that contenders need no discovery.
func (o Options) Mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, k := range o.Kinds {
		scope := meta.RESTScopeRoot
		if k.Namespaced {
			scope = meta.RESTScopeNamespace
		}
		m.AddSpecific(k.GVK, k.GVR, k.GVR, scope)
	}
	return m
}
