package decode

import (
	"reflect"
	"unsafe"
)

var (
	stringType  = reflect.TypeFor[string]()
	wordType    = reflect.TypeFor[uint64]()
	pointerType = reflect.TypeFor[unsafe.Pointer]()
)

// layoutType returns the type to allocate values of t as. Types of one layout share pieces of
// memory: numbers and booleans, strings, pointers.
func layoutType(t reflect.Type) reflect.Type {
	switch k := t.Kind(); {
	case k >= reflect.Bool && k <= reflect.Float64:
		return wordType
	case k == reflect.String:
		return stringType
	case k == reflect.Pointer || k == reflect.Map:
		return pointerType
	}
	return t
}
