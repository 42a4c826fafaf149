package predicate

import (
	"reflect"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// ViewChanged passes updates that changed one of the fields of the struct V; see [wire.Projection]:
//
//	type wanted struct{ Spec struct{ Replicas *int32; Paused bool } }
//	controller.For[appsv1.Deployment](predicate.ViewChanged[wanted]())
//
// It reads two views of each update and builds no object. A value in another notation counts as
// changed, such as a quantity of 1 after 1000m. It passes the same other events as
// [GenerationChanged].
//
// A view that does not fit the kind, or that cannot be read of an object, is an error, and so
// passes.
func ViewChanged[V any]() Predicate { return viewChanged[V]{} }

type viewChanged[V any] struct{}

func (viewChanged[V]) Match(c store.Change) (bool, error) {
	if c.Old == nil || c.New == nil || c.Replaced() || c.Reset || c.Old.Err() != nil || c.New.Err() != nil {
		return true, nil
	}
	if c.Old == c.New {
		return false, nil
	}
	var old, new V
	if err := c.Old.Read(func(raw wire.Raw) error { return raw.Project(&old) }); err != nil {
		return true, err
	}
	if err := c.New.Read(func(raw wire.Raw) error { return raw.Project(&new) }); err != nil {
		return true, err
	}
	return !reflect.DeepEqual(&old, &new), nil
}

func (viewChanged[V]) MatchGeneric(object.Object) (bool, error) { return true, nil }
