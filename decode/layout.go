package decode

import (
	"reflect"
	"unsafe"
)

const wordSize = unsafe.Sizeof(uintptr(0))

// layoutType returns the type to allocate values of t as: one with the same pointer layout, shared by
// many types. It is uint64 for types without pointers. It is string and unsafe.Pointer for types
// that consist of nothing else.
func layoutType(t reflect.Type) reflect.Type {
	words := make([]bool, t.Size()/wordSize)
	pointers(words, t, 0)
	n, strings := 0, len(words)%2 == 0
	for i, is := range words {
		if is {
			n++
		}
		strings = strings && is == (i%2 == 0)
	}
	switch {
	case n == 0:
		return wordType
	case n == len(words):
		return pointerType
	case strings:
		return stringType
	}
	return t
}

var pointerType = reflect.TypeFor[unsafe.Pointer]()

// pointers marks the words of a value of t that hold pointers. The value begins at the given word.
func pointers(words []bool, t reflect.Type, word uintptr) {
	switch t.Kind() {
	case reflect.Pointer, reflect.UnsafePointer, reflect.Map, reflect.Chan, reflect.Func, reflect.String, reflect.Slice:
		words[word] = true
	case reflect.Interface:
		words[word], words[word+1] = true, true
	case reflect.Array:
		for i := range t.Len() {
			if size := uintptr(i) * t.Elem().Size(); size%wordSize == 0 {
				pointers(words, t.Elem(), word+size/wordSize)
			}
		}
	case reflect.Struct:
		for f := range t.Fields() {
			if f.Offset%wordSize == 0 { // pointers are aligned
				pointers(words, f.Type, word+f.Offset/wordSize)
			}
		}
	}
}
