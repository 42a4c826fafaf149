package decode

import (
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/flyball-io/flyball/internal/jsonscan"
)

// list reads an array of unknown length. It begins with the rest of the current piece of memory for
// such values, or with the length of the last list.
func (r *reader) list(p *plan, i int, into unsafe.Pointer) int {
	i, more := r.begin(i, '[')
	l := (*sliceHeader)(into)
	if !more {
		if i >= 0 {
			*l = sliceHeader{data: unsafe.Pointer(&emptyList)}
		}
		return i
	}
	g := r.open(p.block, min(int(p.length.Load()), (len(r.src)-i)/2))
	n := 0
	for ; more; n++ {
		if n == g.cap {
			r.grow(&g)
		}
		i, more = r.next(r.value(p.elem, i, unsafe.Add(g.data, uintptr(n)*p.block.size)), ']')
	}
	if i < 0 {
		return -1
	}
	if p.length.Load() != int32(n) {
		p.length.Store(int32(n))
	}
	*l = sliceHeader{g.data, n, n}
	r.close(g, n)
	return i
}

// emptyList is the address of lists without elements.
var emptyList struct{}

// stringMap reads a map of strings of any named type.
func (r *reader) stringMap(_ *plan, i int, into unsafe.Pointer) int {
	first := len(r.pairs)
	i, more := r.begin(i, '{')
	for more {
		var name []byte
		if name, i = jsonscan.Name(r.src, i); i < 0 {
			return -1
		}
		var s string
		if jsonscan.At(r.src, i) == 'n' {
			i = jsonscan.Word(r.src, i, "null")
		} else {
			s, i = r.text(i)
		}
		r.pairs = append(r.pairs, r.strings.keep(name), s)
		i, more = r.next(i, '}')
	}
	if i < 0 {
		return -1
	}
	pairs := r.pairs[first:]
	m := make(map[string]string, len(pairs)/2)
	for n := 0; n < len(pairs); n += 2 {
		m[pairs[n]] = pairs[n+1]
	}
	*(*map[string]string)(into) = m
	clear(pairs)
	r.pairs = r.pairs[:first]
	return i
}

// typedMap reads a map of values with a plan.
func (r *reader) typedMap(p *plan, i int, into unsafe.Pointer) int {
	size := min(int(p.length.Load()), (len(r.src)-i)/2)
	var m, key, value reflect.Value
	switch p.t.Elem() {
	case quantityType:
		*(*map[string]resource.Quantity)(into) = make(map[string]resource.Quantity, size)
	case bytesType:
		*(*map[string][]byte)(into) = make(map[string][]byte, size)
	default:
		m = reflect.NewAt(p.t, into).Elem()
		m.Set(reflect.MakeMapWithSize(p.t, size))
		key, value = reflect.New(p.t.Key()).Elem(), reflect.New(p.t.Elem()).Elem()
	}
	i, more := r.begin(i, '{')
	n := 0
	for ; more; n++ {
		var name []byte
		if name, i = jsonscan.Name(r.src, i); i < 0 {
			return -1
		}
		k := r.strings.keep(name)
		null := jsonscan.At(r.src, i) == 'n'
		switch p.t.Elem() {
		case quantityType:
			var q resource.Quantity
			if null {
				i = jsonscan.Word(r.src, i, "null")
			} else {
				i = r.quantity(p.elem, i, unsafe.Pointer(&q))
			}
			(*(*map[string]resource.Quantity)(into))[k] = q
		case bytesType:
			var b []byte
			if null {
				i = jsonscan.Word(r.src, i, "null")
			} else {
				i = r.bytes(p.elem, i, unsafe.Pointer(&b))
			}
			(*(*map[string][]byte)(into))[k] = b
		default:
			key.SetString(k)
			value.SetZero()
			i = r.value(p.elem, i, value.Addr().UnsafePointer())
			m.SetMapIndex(key, value)
		}
		i, more = r.next(i, '}')
	}
	if i >= 0 && p.length.Load() != int32(n) {
		p.length.Store(int32(n))
	}
	return i
}
