// Package object defines the basic types of all other packages: an API object, its key, and its
// header. The header is the part of the metadata that the framework itself needs.
//
// Use [KeyOf] for the key of an object, and [KindOf] for its kind. [AddFinalizer] and
// [RemoveFinalizer] change its finalizers. errors.Is with [ErrNoAnswer] tells a failed read from a
// NotFound.
//
// It is the lowest layer: it does not depend on caches, queues or servers.
package object

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is any Kubernetes API object: a pointer to a typed struct such as corev1.Pod,
// *unstructured.Unstructured or *metav1.PartialObjectMetadata.
type Object interface {
	metav1.Object
	runtime.Object
}

// Ptr is the constraint that lets a function take the struct type and work with its pointer:
//
//	func Get[T any, P object.Ptr[T]](…) (P, error)   // called as Get[corev1.Pod](…)
type Ptr[T any] interface {
	*T
	Object
}

// Key identifies one object among those of its kind. Namespace is empty for a cluster-scoped kind.
// Keys are comparable. They serve as map keys and as the default request of a controller.
type Key struct {
	Namespace string
	Name      string
}

// KeyOf returns the key of an object.
func KeyOf(o metav1.Object) Key { return Key{Namespace: o.GetNamespace(), Name: o.GetName()} }

// String returns "namespace/name", or the bare name if there is no namespace.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// Compare orders keys by namespace, then by name, in byte order. The API server lists in this
// order.
func (k Key) Compare(l Key) int {
	if c := strings.Compare(k.Namespace, l.Namespace); c != 0 {
		return c
	}
	return strings.Compare(k.Name, l.Name)
}
