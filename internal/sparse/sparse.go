// Package sparse takes out of the JSON form of a Go value what is there only because its type writes
// it: what is left is what the value sets.
package sparse

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Nulls removes from m, the JSON form of v, the members that are null since a pointer, a slice, a map or
// a value such as a time is empty. Nulls inside of what can hold any JSON stay, for there they are part
// of the value: in interfaces, in maps of them, and in types that write themselves, such as
// runtime.RawExtension.
func Nulls(v any, m map[string]any) { dropper{}.value(reflect.ValueOf(v), m) }

// Unset does as [Nulls], and removes the structs that are zero and that their json tag calls optional:
// encoding/json writes them all the same, and a server takes a targetPort of 0 for one that is set.
func Unset(v any, m map[string]any) { dropper{structs: true}.value(reflect.ValueOf(v), m) }

type dropper struct{ structs bool }

// value looks through one value and what was written for it.
func (d dropper) value(v reflect.Value, written any) {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() || writesItself(v.Type()) {
			return
		}
		v = v.Elem()
	}
	if !v.IsValid() || writesItself(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		if list, ok := written.([]any); ok && len(list) == v.Len() {
			for i, x := range list {
				d.value(v.Index(i), x)
			}
		}
	case reflect.Map:
		d.mapped(v, written)
	case reflect.Struct:
		if m, ok := written.(map[string]any); ok {
			d.fields(v, m)
		}
	}
}

// mapped looks through a map with keys that are text. One of interfaces can hold any JSON.
func (d dropper) mapped(v reflect.Value, written any) {
	m, ok := written.(map[string]any)
	if !ok || v.Type().Key().Kind() != reflect.String || v.Type().Elem().Kind() == reflect.Interface {
		return
	}
	for _, k := range v.MapKeys() {
		x, ok := m[k.String()]
		switch value := v.MapIndex(k); {
		case ok && x == nil && value.IsZero():
			delete(m, k.String())
		case ok:
			d.value(value, x)
		}
	}
}

func (d dropper) fields(v reflect.Value, m map[string]any) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		tag := field.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		embedded := field.Anonymous && name == ""
		if tag == "-" || !field.IsExported() && !embedded {
			continue
		}
		f := v.Field(i)
		if embedded && !writesItself(f.Type()) {
			d.value(f, m)
			continue
		}
		if name == "" {
			name = field.Name
		}
		written, ok := m[name]
		optional := slices.Contains(strings.Split(options, ","), "omitempty")
		switch {
		case !ok:
		case f.IsZero() && (written == nil || d.structs && optional && f.Kind() == reflect.Struct):
			delete(m, name)
		default:
			d.value(f, written)
		}
	}
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// writesItself reports whether a type, or a pointer to it, has a JSON form of its own making.
func writesItself(t reflect.Type) bool {
	return t.Implements(marshaler) || t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(marshaler)
}
