package wire

import (
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/object"
)

// prototypes has one immutable zero object of each Go type, to save memory: a Pod is 1.3 kB.
var prototypes sync.Map // reflect.Type → object.Object

// Prototype returns an object that names a kind. Do not change it: calls may share it. gvk is for types that
// do not determine the kind; empty for others.
func Prototype[T any, P object.Ptr[T]](gvk schema.GroupVersionKind) P {
	if !gvk.Empty() {
		p := P(new(T))
		p.GetObjectKind().SetGroupVersionKind(gvk)
		return p
	}
	t := reflect.TypeFor[T]()
	p, ok := prototypes.Load(t)
	if !ok {
		p, _ = prototypes.LoadOrStore(t, P(new(T)))
	}
	return p.(P)
}
