package decode

import (
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"
)

// tables holds a table for each decoded type; nil for an unsupported type.
type tables[T any] struct {
	cache [64]atomic.Pointer[cachedTable[T]] // cache by the address of the type
	all   sync.Map                           // reflect.Type → *T
	make  func(reflect.Type) *T
}

type cachedTable[T any] struct {
	pointer unsafe.Pointer // the pointer type of the decoded type
	table   *T
}

// find returns the table for the value that into points to, and its address; nil if into is not a
// pointer to a value.
func (ts *tables[T]) find(into any) (*T, unsafe.Pointer) {
	b := (*box)(unsafe.Pointer(&into))
	slot := &ts.cache[uintptr(b.t)/64%uintptr(len(ts.cache))]
	if k := slot.Load(); k != nil && k.pointer == b.t && b.data != nil {
		return k.table, b.data
	}
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil, nil
	}
	table := ts.of(v.Type().Elem())
	slot.Store(&cachedTable[T]{b.t, table})
	return table, v.UnsafePointer()
}

// of returns the table of a type.
func (ts *tables[T]) of(t reflect.Type) *T {
	table, ok := ts.all.Load(t)
	if !ok {
		table, _ = ts.all.LoadOrStore(t, ts.make(t))
	}
	return table.(*T)
}
