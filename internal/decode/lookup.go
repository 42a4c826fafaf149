package decode

import (
	"reflect"
	"sync"
	"unsafe"
)

// tables holds a table for each decoded type; nil for an unsupported type.
type tables[T any] struct {
	all  sync.Map // reflect.Type → *T
	make func(reflect.Type) *T
}

// find returns the table for the value that into points to, and its address; nil if into is not a
// pointer to a value.
func (ts *tables[T]) find(into any) (*T, unsafe.Pointer) {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil, nil
	}
	return ts.of(v.Type().Elem()), v.UnsafePointer()
}

// of returns the table of a type.
func (ts *tables[T]) of(t reflect.Type) *T {
	table, ok := ts.all.Load(t)
	if !ok {
		table, _ = ts.all.LoadOrStore(t, ts.make(t))
	}
	return table.(*T)
}
