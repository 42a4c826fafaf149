// Package objects has what the adapters do with decoded objects: transforms of client-go, and the TypeMeta.
package objects

import (
	"fmt"
	"reflect"

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
// leaves out of the identity of the object stays. A field that it sets and that cannot be held is a *FieldError.
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
		if err != nil {
			return err
		}
		was := reflect.ValueOf(o)
		if out != any(o) {
			is := reflect.ValueOf(out)
			if !is.IsValid() || is.Type() != was.Type() || is.IsNil() {
				return &TypeError{Kind: gvk, Got: fmt.Sprintf("%T", out), Want: fmt.Sprintf("%T", o)}
			}
			was.Elem().Set(is.Elem())
		}
		if field := lost(was); field != "" {
			return &FieldError{Kind: gvk, Field: field}
		}
		return nil
	}
}

// Probe calls a transform with an empty object, and returns an error if it returns another type, or sets a field that
// cannot be held. Other failures count for nothing: the function may need a whole object.
func Probe(gvk schema.GroupVersionKind, f toolscache.TransformFunc, o object.Object) (wrong error) {
	_ = run.Safely("transform", func() error {
		switch err := Transform(gvk, f)(o).(type) {
		case *TypeError, *FieldError:
			wrong = err
		}
		return nil
	})
	return wrong
}

// Untag empties the TypeMeta of a typed object, as the decoder of client-go leaves it.
func Untag(o object.Object) {
	if !object.Untyped(o) {
		o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
}
