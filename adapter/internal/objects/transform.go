// Package objects has what the adapters do with decoded objects: transforms of client-go, and the TypeMeta.
package objects

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
)

// TypeError says that a transform returns another type than it gets. A packed object has the type
// of its kind.
type TypeError struct {
	Kind schema.GroupVersionKind
	// Got is the type that the transform returned, and Want the one it was given.
	Got, Want string
}

func (e *TypeError) Error() string {
	return fmt.Sprintf("transform of %s: it returns a %s for a %s: the packed cache holds objects of their own type only", e.Kind, e.Got, e.Want)
}

// Transform converts a transform of client-go, which may return another object of the same type. What it
// leaves out of the identity of the object stays.
func Transform(gvk schema.GroupVersionKind, f toolscache.TransformFunc) func(object.Object) error {
	return func(o object.Object) error {
		Untag(o)
		uid, version := o.GetUID(), o.GetResourceVersion()
		defer func() {
			if o.GetUID() == "" {
				o.SetUID(uid)
			}
			if o.GetResourceVersion() == "" {
				o.SetResourceVersion(version)
			}
		}()
		out, err := f(o)
		if err != nil || out == any(o) {
			return err
		}
		is, was := reflect.ValueOf(out), reflect.ValueOf(o)
		if !is.IsValid() || is.Type() != was.Type() || is.IsNil() {
			return &TypeError{Kind: gvk, Got: fmt.Sprintf("%T", out), Want: fmt.Sprintf("%T", o)}
		}
		was.Elem().Set(is.Elem())
		return nil
	}
}

// Probe calls a transform with an empty object, and returns an error if it returns another type. Other
// failures count for nothing: the function may need a whole object.
func Probe(gvk schema.GroupVersionKind, f toolscache.TransformFunc, o object.Object) error {
	var wrong *TypeError
	_ = run.Safely("transform", func() error {
		wrong, _ = Transform(gvk, f)(o).(*TypeError)
		return nil
	})
	if wrong != nil {
		return wrong
	}
	return nil
}

// StripsManagedFields reports whether f is TransformStripManagedFields of controller-runtime: by the name of its code, which the
// compiler may have inlined into any function, and by what it does.
func StripsManagedFields(f toolscache.TransformFunc) bool {
	code := runtime.FuncForPC(reflect.ValueOf(f).Pointer())
	if code == nil || !strings.Contains(code.Name(), "TransformStripManagedFields.func") {
		return false
	}
	o := &metav1.PartialObjectMetadata{}
	o.Name, o.Labels, o.Annotations = "n", map[string]string{"a": "b"}, map[string]string{"c": "d"}
	o.OwnerReferences, o.Finalizers = []metav1.OwnerReference{{Name: "o"}}, []string{"f"}
	want := o.DeepCopy()
	o.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
	out, err := f(o)
	return err == nil && out == any(o) && reflect.DeepEqual(o, want)
}

// Untag empties the TypeMeta of a typed object, as the decoder of client-go leaves it.
func Untag(o object.Object) {
	if !object.Untyped(o) {
		o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
}
