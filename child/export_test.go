package child

import (
	"context"
	"encoding/json"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// Difference returns the field that would make Ensure apply.
func Difference(c client.Client, owner, desired object.Object) string {
	e, err := newEnsure(c, owner, false, desired, nil)
	if err != nil {
		return err.Error()
	}
	live := desired.DeepCopyObject().(object.Object)
	if err := c.Get(context.Background(), object.KeyOf(e.want), live, client.GetOptions{}); err != nil {
		return err.Error()
	}
	field, err := e.difference(live)
	if err != nil {
		return err.Error()
	}
	return field
}

// EnsureAny is Ensure without type parameters.
func EnsureAny(ctx context.Context, c client.Client, owner, desired object.Object) (object.Object, Change, error) {
	e, err := newEnsure(c, owner, false, desired, nil)
	if err != nil {
		return nil, Unchanged, err
	}
	var into object.Object
	if object.Untyped(desired) {
		into = desired.DeepCopyObject().(object.Object)
	} else {
		empty, err := c.Scheme().New(e.gvk)
		if err != nil {
			return nil, Unchanged, err
		}
		into = empty.(object.Object)
	}
	return e.run(ctx, into)
}

// AsUntyped is the object as a person would write it, without the zero values of its Go type.
func AsUntyped(o object.Object) (map[string]any, error) {
	m, err := setFields(o)
	if err != nil {
		return nil, err
	}
	dropEmpty(m)
	return plainNumbers(m).(map[string]any), nil
}

func dropEmpty(m map[string]any) {
	for k, v := range m {
		if sub, ok := v.(map[string]any); ok {
			if dropEmpty(sub); len(sub) == 0 && k != "emptyDir" {
				delete(m, k)
			}
		}
	}
}

// plainNumbers converts numbers to those that an unstructured object may have.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = plainNumbers(x)
		}
	case []any:
		for i, x := range v {
			v[i] = plainNumbers(x)
		}
	case json.Number:
		n, err := v.Int64()
		if err != nil {
			panic(err)
		}
		return n
	}
	return v
}

// Paths are the paths of the fields of an entry.
var Paths = paths
