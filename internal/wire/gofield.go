package wire

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// field is a struct field with its names on the wire.
type field struct {
	typ     reflect.Type
	nums    []int // nil if it has no protobuf form
	pointer bool  // an inlined struct on the way is a pointer
}

// findField finds a field by its JSON name, also in inlined structs.
func findField(t reflect.Type, name string) (field, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		num := protobufField(f)
		if f.Anonymous && tag == "" {
			inner, pointer := deref(f.Type)
			if inner.Kind() != reflect.Struct {
				continue
			}
			found, ok := findField(inner, name)
			if !ok {
				continue
			}
			found.pointer = found.pointer || pointer
			if num == 0 {
				found.nums = nil
			} else if found.nums != nil {
				found.nums = append([]int{num}, found.nums...)
			}
			return found, true
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		if tag == "" {
			tag = f.Name
		}
		if tag != name {
			continue
		}
		found := field{typ: f.Type}
		if num != 0 {
			found.nums = []int{num}
		}
		return found, true
	}
	return field{}, false
}

// protobufField returns the number in a tag such as `protobuf:"bytes,10,opt,name=nodeName"`, or 0.
func protobufField(f reflect.StructField) int {
	parts := strings.Split(f.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return 0
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0
	}
	return n
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
