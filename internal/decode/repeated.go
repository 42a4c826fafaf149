package decode

import (
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
)

// packed reads a list of numbers that share a tag.
func (d *proto) packed(o op, at, end int, p unsafe.Pointer) int {
	at, end = d.span(at, end)
	if end < 0 {
		return -1
	}
	for at < end {
		var n uint64
		if n, at = d.number(at, end); at < 0 {
			return -1
		}
		add(o, n, p)
	}
	return at
}

// add appends a number to a list of numbers, which are rare and short.
func add(o op, n uint64, p unsafe.Pointer) {
	switch o {
	case opBools:
		s := (*[]bool)(p)
		*s = append(*s, n != 0)
	case opInt32s:
		s := (*[]int32)(p)
		*s = append(*s, int32(n))
	case opInt64s:
		s := (*[]int64)(p)
		*s = append(*s, int64(n))
	}
}

// list reads successive strings or messages of a list. The tag of the first is at start, its length
// at at.
func (d *proto) list(f *protoField, start, at, end int, p unsafe.Pointer) int {
	count := d.run(d.src[start:at], at, end)
	if count < 0 {
		return -1
	}
	tag := at - start
	var base unsafe.Pointer
	if l := (*sliceHeader)(p); l.data == nil {
		base = d.take(f.block, count)
		*l = sliceHeader{base, count, count}
	} else { // append to the earlier part
		v := reflect.NewAt(f.t, p).Elem()
		v.Grow(count)
		v.SetLen(l.len + count)
		base = unsafe.Add(l.data, uintptr(l.len-count)*f.block.size)
	}
	for i := range count {
		if i > 0 {
			at += tag
		}
		from, to := d.span(at, end)
		e := unsafe.Add(base, uintptr(i)*f.block.size)
		if f.op == opStrings {
			*(*string)(e) = d.strings.keep(d.src[from:to])
		} else if !d.message(f.sub, from, to, e) {
			return -1
		}
		at = to
	}
	return at
}

// sliceHeader is the memory layout of a slice.
type sliceHeader struct {
	data     unsafe.Pointer
	len, cap int
}

// entries reads successive entries of a map. An entry has a key and a value in this order, or only
// one of them. Others are left to the stock decoder.
func (d *proto) entries(f *protoField, start, at, end int, p unsafe.Pointer) int {
	count := d.run(d.src[start:at], at, end)
	if count < 0 {
		return -1
	}
	tag := at - start
	var m, key, value reflect.Value
	switch f.op {
	case opStringMap:
		if m := (*map[string]string)(p); *m == nil {
			*m = make(map[string]string, count)
		}
	case opBytesMap:
		if m := (*map[string][]byte)(p); *m == nil {
			*m = make(map[string][]byte, count)
		}
	case opQuantityMap:
		if m := (*map[string]resource.Quantity)(p); *m == nil {
			*m = make(map[string]resource.Quantity, count)
		}
	default:
		if m = reflect.NewAt(f.t, p).Elem(); m.IsNil() {
			m.Set(reflect.MakeMapWithSize(f.t, count))
		}
		key, value = reflect.New(f.t.Key()).Elem(), reflect.New(f.t.Elem()).Elem()
	}
	for i := range count {
		if i > 0 {
			at += tag
		}
		var e entry
		if at = d.entry(at, end, &e); at < 0 {
			return -1
		}
		name := d.strings.keep(d.src[e.key:e.keyEnd])
		switch f.op {
		case opStringMap:
			(*(*map[string]string)(p))[name] = d.strings.keep(d.src[e.value:e.valueEnd])
		case opBytesMap:
			(*(*map[string][]byte)(p))[name] = d.bytes(e.value, e.valueEnd)
		case opQuantityMap:
			var q resource.Quantity
			if !quantity(d, e.value, e.valueEnd, unsafe.Pointer(&q)) {
				return -1
			}
			(*(*map[string]resource.Quantity)(p))[name] = q
		default:
			key.SetString(name)
			value.SetZero()
			if f.empty.IsValid() {
				value.Set(f.empty)
			}
			if !d.message(f.sub, e.value, e.valueEnd, value.Addr().UnsafePointer()) {
				return -1
			}
			m.SetMapIndex(key, value)
		}
	}
	return at
}

// entry has the bounds of the key and the value of a map entry.
type entry struct{ key, keyEnd, value, valueEnd int }

func (d *proto) entry(at, end int, e *entry) int {
	from, to := d.span(at, end)
	if from < to && d.src[from] == 1<<3|kindBytes {
		if e.key, e.keyEnd = d.span(from+1, to); e.keyEnd < 0 {
			return -1
		}
		from = e.keyEnd
	}
	if from < to && d.src[from] == 2<<3|kindBytes {
		if e.value, e.valueEnd = d.span(from+1, to); e.valueEnd < 0 {
			return -1
		}
		from = e.valueEnd
	}
	if from != to {
		return -1
	}
	return to
}
