package ctrlcache

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/flyball-io/flyball/object"
)

// form is how a program represents the objects of a kind. Each form has watches of its own, as in the
// default cache.
type form uint8

const (
	typed form = iota
	untyped
	metadata
)

// kindKey is what one informer of controller-runtime is for.
type kindKey struct {
	gvk  schema.GroupVersionKind
	form form
}

func (k kindKey) String() string {
	return k.gvk.String() + [...]string{"", " (unstructured)", " (metadata)"}[k.form]
}

// keyOf returns the key of an object or a list.
func keyOf(s *runtime.Scheme, o runtime.Object) (kindKey, error) {
	gvk, err := apiutil.GVKForObject(o, s)
	if err != nil {
		return kindKey{}, err
	}
	k := kindKey{gvk: gvk}
	list := false
	switch o := o.(type) {
	case runtime.Unstructured:
		k.form, list = untyped, o.IsList()
	case *metav1.PartialObjectMetadata:
		k.form = metadata
	case *metav1.PartialObjectMetadataList:
		k.form, list = metadata, true
	default:
		_, one := o.(metav1.Object)
		list = !one
	}
	if list {
		k.gvk.Kind = strings.TrimSuffix(k.gvk.Kind, "List")
	}
	return k, nil
}

// listable returns an error for a type without a list in the scheme, as the default cache does. Most such types, as
// Binding, are of requests: no server lists them, and a read would wait for a list until its context ends.
func (k kindKey) listable(s *runtime.Scheme) error {
	if k.form != typed {
		return nil
	}
	_, err := s.New(k.gvk.GroupVersion().WithKind(k.gvk.Kind + "List"))
	return err
}

// newObject returns an empty object of a kind.
func (k kindKey) newObject(s *runtime.Scheme) (object.Object, error) {
	switch k.form {
	case untyped:
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(k.gvk)
		return u, nil
	case metadata:
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(k.gvk)
		return m, nil
	}
	o, err := s.New(k.gvk)
	if err != nil {
		return nil, err
	}
	obj, ok := o.(object.Object)
	if !ok {
		return nil, fmt.Errorf("%s: a %T has no metadata", k.gvk, o)
	}
	return obj, nil
}
