// Package sparse makes the JSON form of a Go value as maps, and removes from it the members that the value
// does not set. A Go type writes some members even when they are empty.
package sparse

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/flyball-io/flyball/internal/gofield"
)

// Map returns the JSON form of an object, with numbers as json.Number.
func Map(object any) (map[string]any, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return Parse(data)
}

// Parse returns an object of JSON, with numbers as json.Number.
func Parse(data []byte) (m map[string]any, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	err = dec.Decode(&m)
	return m, err
}

// Nulls removes from m, the JSON form of v, the members that are null because a pointer, a slice, a
// map or a value such as a time is empty. Nulls inside free-form JSON stay, for there they are part
// of the value. These are interfaces, maps of them, and types with a JSON form of their own, such
// as runtime.RawExtension.
func Nulls(v any, m map[string]any) { dropper{}.value(reflect.ValueOf(v), m) }

// Unset does the same as [Nulls], and also removes zero structs with omitempty in their json tag.
// encoding/json writes these structs, and a server takes a targetPort of 0 for a set one.
func Unset(v any, m map[string]any) { dropper{structs: true}.value(reflect.ValueOf(v), m) }

type dropper struct{ structs bool }

// value visits one value and its JSON form.
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

// mapped visits a map with text keys. It skips maps of interfaces: they can hold any JSON.
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
	for _, field := range gofield.Of(v.Type()) {
		f, err := v.FieldByIndexErr(field.Go.Index)
		written, ok := m[field.Name]
		switch {
		case err != nil || !ok: // behind an embedded pointer that is nil, or omitted
		case f.IsZero() && (written == nil || d.structs && field.Tag.OmitEmpty && f.Kind() == reflect.Struct):
			delete(m, field.Name)
		default:
			d.value(f, written)
		}
	}
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// writesItself reports whether a type, or a pointer to it, implements json.Marshaler.
func writesItself(t reflect.Type) bool {
	return t.Implements(marshaler) || t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(marshaler)
}
