package wire

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/flyball-io/flyball/internal/gofield"
)

// field is a struct field with its names on the wire.
type field struct {
	typ     reflect.Type
	nums    []int // nil if it has no protobuf form
	pointer bool  // an embedded struct on the way is a pointer
}

// findField finds a field by its JSON name, also in embedded structs.
func findField(t reflect.Type, name string) (field, bool) {
	f, ok := gofield.Find(t, name)
	if !ok {
		return field{}, false
	}
	found := field{typ: f.Go.Type, pointer: f.Pointer}
	for _, on := range append(slices.Clone(f.Via), f.Go) {
		num := gofield.Number(on.Tag)
		if num == 0 {
			found.nums = nil
			break
		}
		found.nums = append(found.nums, num)
	}
	return found, true
}

func deref(t reflect.Type) (reflect.Type, bool) {
	if t.Kind() == reflect.Pointer {
		return t.Elem(), true
	}
	return t, false
}

// hasOwnForm reports whether a type has its own encoding, which its Go fields do not show.
func hasOwnForm(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	if p.Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return true
	}
	return t.Kind() != reflect.Struct && p.Implements(reflect.TypeFor[message]())
}
