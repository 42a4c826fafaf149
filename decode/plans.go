package decode

import (
	"encoding/base64"
	gojson "encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// structPlan reads the members of an object. They often come in the order of the fields, so the
// one after the last is tried first.
func structPlan(fields []field, index map[string]int) plan {
	words := (len(fields) + 63) / 64
	return func(r *reader, into unsafe.Pointer) bool {
		if r.peek() == 'n' {
			return r.literal("null")
		}
		var few [2]uint64
		seen := few[:]
		if words > len(few) {
			seen = make([]uint64, words)
		}
		more, ok := r.begin('{', '}')
		if !ok {
			return false
		}
		r.depth++
		guess := 0
		for more {
			name, ok := r.key()
			if !ok {
				return false
			}
			i := guess
			if i >= len(fields) || fields[i].name != string(name) {
				i, ok = index[string(name)]
			}
			if !ok {
				if !r.skip() {
					return false
				}
			} else {
				if seen[i/64]&(1<<(i%64)) != 0 {
					return false // twice: they are merged
				}
				seen[i/64] |= 1 << (i % 64)
				if f := &fields[i]; !f.plan(r, unsafe.Add(into, f.offset)) {
					return false
				}
				guess = i + 1
			}
			if more, ok = r.next('}'); !ok {
				return false
			}
		}
		r.depth--
		return true
	}
}

func pointerPlan(t reflect.Type, elem plan) plan {
	return func(r *reader, into unsafe.Pointer) bool {
		if r.peek() == 'n' {
			return r.literal("null")
		}
		p := reflect.New(t.Elem()).UnsafePointer()
		*(*unsafe.Pointer)(into) = p
		return elem(r, p)
	}
}

func slicePlan(t reflect.Type, elem plan) plan {
	size := t.Elem().Size()
	return func(r *reader, into unsafe.Pointer) bool {
		if r.peek() == 'n' {
			return r.literal("null")
		}
		start := r.at
		more, ok := r.begin('[', ']')
		if !ok {
			return false
		}
		v := reflect.NewAt(t, into).Elem()
		if !more {
			v.Set(reflect.MakeSlice(t, 0, 0))
			return true
		}
		end := r.at
		r.at = start
		n := r.count()
		r.at = end
		v.Grow(n)
		v.SetLen(n)
		base := v.UnsafePointer()
		r.depth++
		for i := 0; more; i++ {
			if i == n || !elem(r, unsafe.Add(base, uintptr(i)*size)) {
				return false
			}
			if more, ok = r.next(']'); !ok {
				return false
			}
		}
		r.depth--
		return true
	}
}

func mapPlan(t reflect.Type, elem plan) plan {
	return func(r *reader, into unsafe.Pointer) bool {
		if r.peek() == 'n' {
			return r.literal("null")
		}
		n := r.count()
		m := reflect.MakeMapWithSize(t, n)
		reflect.NewAt(t, into).Elem().Set(m)
		key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		p := value.Addr().UnsafePointer()
		return r.each('{', '}', func() bool {
			name, ok := r.key()
			if !ok {
				return false
			}
			key.SetString(r.strings.keep(name))
			value.SetZero()
			if !elem(r, p) {
				return false
			}
			m.SetMapIndex(key, value)
			return true
		})
	}
}

// stringMapPlan is for every map of strings, whatever its name and that of its keys.
func stringMapPlan(r *reader, into unsafe.Pointer) bool {
	if r.peek() == 'n' {
		return r.literal("null")
	}
	m := make(map[string]string, r.count())
	*(*map[string]string)(into) = m
	return r.each('{', '}', func() bool {
		name, ok := r.key()
		if !ok {
			return false
		}
		key := r.strings.keep(name)
		if r.peek() == 'n' {
			m[key] = ""
			return r.literal("null")
		}
		m[key], ok = r.text()
		return ok
	})
}

func anyMapPlan(r *reader, into unsafe.Pointer) bool {
	if r.peek() == 'n' {
		return r.literal("null")
	}
	m, ok := r.object()
	*(*map[string]any)(into) = m
	return ok
}

func anyPlan(r *reader, into unsafe.Pointer) (ok bool) {
	*(*any)(into), ok = r.any()
	return ok
}

func (r *reader) object() (map[string]any, bool) {
	m := make(map[string]any, r.count())
	return m, r.each('{', '}', func() bool {
		name, ok := r.key()
		if !ok {
			return false
		}
		key := r.strings.keep(name)
		m[key], ok = r.any()
		return ok
	})
}

// any reads a value of whatever type.
func (r *reader) any() (any, bool) {
	switch r.peek() {
	case '{':
		return r.object()
	case '[':
		list := []any{}
		if n := r.count(); n > 1 {
			list = make([]any, 0, n)
		}
		ok := r.each('[', ']', func() bool {
			v, ok := r.any()
			list = append(list, v)
			return ok
		})
		return list, ok
	case '"':
		return r.text()
	case 't':
		return true, r.literal("true")
	case 'f':
		return false, r.literal("false")
	case 'n':
		return nil, r.literal("null")
	}
	s, _, ok := r.number()
	if !ok {
		return nil, false
	}
	if !strings.Contains(s, ".") {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n, true
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

func stringPlan(r *reader, into unsafe.Pointer) (ok bool) {
	if r.peek() == 'n' {
		return r.literal("null")
	}
	*(*string)(into), ok = r.text()
	return ok
}

func boolPlan(r *reader, into unsafe.Pointer) bool {
	switch r.peek() {
	case 't':
		*(*bool)(into) = true
		return r.literal("true")
	case 'f':
		return r.literal("false")
	case 'n':
		return r.literal("null")
	}
	return false
}

func intPlan(t reflect.Type) plan {
	bits, size := t.Bits(), t.Size()
	return func(r *reader, into unsafe.Pointer) bool {
		if r.peek() == 'n' {
			return r.literal("null")
		}
		n, ok := r.signed(bits)
		switch size {
		case 1:
			*(*int8)(into) = int8(n)
		case 2:
			*(*int16)(into) = int16(n)
		case 4:
			*(*int32)(into) = int32(n)
		default:
			*(*int64)(into) = n
		}
		return ok
	}
}

func uintPlan(t reflect.Type) plan {
	bits, size := t.Bits(), t.Size()
	return func(r *reader, into unsafe.Pointer) bool {
		if r.peek() == 'n' {
			return r.literal("null")
		}
		s, whole, ok := r.number()
		if !ok || !whole {
			return false
		}
		n, err := strconv.ParseUint(s, 10, bits)
		switch size {
		case 1:
			*(*uint8)(into) = uint8(n)
		case 2:
			*(*uint16)(into) = uint16(n)
		case 4:
			*(*uint32)(into) = uint32(n)
		default:
			*(*uint64)(into) = n
		}
		return err == nil
	}
}

func floatPlan(t reflect.Type) plan {
	bits := t.Bits()
	return func(r *reader, into unsafe.Pointer) bool {
		if r.peek() == 'n' {
			return r.literal("null")
		}
		s, _, ok := r.number()
		if !ok {
			return false
		}
		f, err := strconv.ParseFloat(s, bits)
		if err != nil || math.IsInf(f, 0) {
			return false
		}
		if bits == 32 {
			*(*float32)(into) = float32(f)
		} else {
			*(*float64)(into) = f
		}
		return true
	}
}

func bytesPlan(r *reader, into unsafe.Pointer) bool {
	if r.peek() == 'n' {
		return r.literal("null")
	}
	inner, escaped, ok := r.quoted()
	if !ok || escaped {
		return false
	}
	b := make([]byte, base64.StdEncoding.DecodedLen(len(inner)))
	n, err := base64.StdEncoding.Decode(b, inner)
	*(*[]byte)(into) = b[:n]
	return err == nil
}

// ownPlan has a type read itself. Its method must copy what it keeps, says its contract.
func ownPlan(t reflect.Type) plan {
	return func(r *reader, into unsafe.Pointer) bool {
		start := r.at
		if !r.skip() {
			return false
		}
		return reflect.NewAt(t, into).Interface().(gojson.Unmarshaler).UnmarshalJSON(r.src[start:r.at:r.at]) == nil
	}
}

func timePlan(r *reader, into unsafe.Pointer) bool {
	if r.peek() == 'n' {
		return r.literal("null")
	}
	inner, escaped, ok := r.quoted()
	if !ok || escaped {
		return false
	}
	t, err := time.Parse(time.RFC3339, unsafe.String(unsafe.SliceData(inner), len(inner)))
	if err != nil {
		return false
	}
	(*metav1.Time)(into).Time = t.Local()
	return true
}

func intOrStringPlan(r *reader, into unsafe.Pointer) bool {
	v := (*intstr.IntOrString)(into)
	if r.peek() == '"' {
		var ok bool
		v.Type = intstr.String
		v.StrVal, ok = r.text()
		return ok
	}
	n, ok := r.signed(32)
	v.IntVal = int32(n)
	return ok
}
