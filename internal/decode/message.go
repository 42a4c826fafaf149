package decode

import (
	"reflect"
	"unsafe"
)

// message is the table of a type: its fields by number. Special types have a function.
type message struct {
	fields []protoField
	index  []uint8 // by number: the field's place in fields, and one
	custom func(d *proto, from, to int, into unsafe.Pointer) bool
}

type op uint8

const (
	opString op = iota
	opBytes
	opBool
	opInt32
	opInt64
	opStringPointer
	opBoolPointer
	opInt32Pointer
	opInt64Pointer
	opStrings
	opBools
	opInt32s
	opInt64s
	opMessage
	opMessagePointer
	opMessages
	opStringMap
	opBytesMap
	opQuantityMap
	opMap
)

type protoField struct {
	op     op
	kind   uint8 // wire type of its values
	offset uintptr
	sub    *message // of opMessage…, and of the values of opMap
	block  *block   // of the pointed to or listed values
	*shape
}

// shape is the reflection data for other lists and maps.
type shape struct {
	t     reflect.Type  // of the slice or the map
	empty reflect.Value // initial value of a message that is a list
}

// message reads src[at:end] into a value of the table's type.
func (d *proto) message(m *message, at, end int, into unsafe.Pointer) bool {
	if m.custom != nil {
		return m.custom(d, at, end, into)
	}
	if d.depth++; d.depth > protoDepth {
		return false
	}
	src := d.src[:end]
	for at < len(src) {
		start := at
		tag := uint64(src[at])
		if at++; tag >= 0x80 {
			if at < len(src) && src[at] < 0x80 {
				tag = tag&0x7f | uint64(src[at])<<7
				at++
			} else if tag, at = d.number(start, end); at < 0 || tag > 1<<31 {
				return false
			}
		}
		n, kind := int(tag>>3), int(tag&7)
		if n == 0 {
			return false
		}
		if n >= len(m.index) || m.index[n] == 0 {
			if at = d.skip(start, end); at < 0 {
				return false
			}
			continue
		}
		f := &m.fields[m.index[n]-1]
		p := unsafe.Add(into, f.offset)
		if kind != int(f.kind) {
			if kind != kindBytes || f.op < opBools || f.op > opInt64s {
				return false
			}
			if at = d.packed(f.op, at, end, p); at < 0 {
				return false
			}
			continue
		}
		if kind == kindNumber {
			switch {
			case f.op == opInt32 && at < len(src) && src[at] < 0x80:
				*(*int32)(p) = int32(src[at])
				at++
			case f.op == opBool && at < len(src) && src[at] < 0x80:
				*(*bool)(p) = src[at] != 0
				at++
			default:
				at = d.scalar(f, at, end, p)
			}
			if at < 0 {
				return false
			}
			continue
		}
		from, to := at+1, 0
		if at < len(src) && src[at] < 0x80 {
			to = from + int(src[at])
		} else {
			from, to = d.span(at, end)
		}
		if uint(to) > uint(end) {
			return false
		}
		switch f.op {
		case opString:
			*(*string)(p) = d.strings.keep(src[from:to])
		case opBytes:
			*(*[]byte)(p) = d.bytes(from, to)
		case opStringPointer:
			s := (*string)(d.take(f.block, 1))
			*s = d.strings.keep(src[from:to])
			*(**string)(p) = s
		case opMessage:
			if f.shape != nil && *(*unsafe.Pointer)(p) == nil {
				reflect.NewAt(f.t, p).Elem().Set(f.empty)
			}
			if from == to && f.sub.custom == nil {
				break
			}
			if !d.message(f.sub, from, to, p) {
				return false
			}
		case opMessagePointer:
			sub := *(*unsafe.Pointer)(p)
			if sub == nil {
				sub = d.take(f.block, 1)
				*(*unsafe.Pointer)(p) = sub
			}
			if !d.message(f.sub, from, to, sub) {
				return false
			}
		case opMessages, opStrings:
			to = d.list(f, start, at, end, p)
		default:
			to = d.entries(f, start, at, end, p)
		}
		if to < 0 {
			return false
		}
		at = to
	}
	d.depth--
	return true
}

// scalar reads a number.
func (d *proto) scalar(f *protoField, at, end int, p unsafe.Pointer) int {
	n, at := d.number(at, end)
	if at < 0 {
		return -1
	}
	switch f.op {
	case opBoolPointer, opInt32Pointer, opInt64Pointer:
		w := d.take(f.block, 1)
		*(*unsafe.Pointer)(p) = w
		p = w
	}
	switch f.op {
	case opBool, opBoolPointer:
		*(*bool)(p) = n != 0
	case opInt32, opInt32Pointer:
		*(*int32)(p) = int32(n)
	case opInt64, opInt64Pointer:
		*(*int64)(p) = int64(n)
	default:
		add(f.op, n, p)
	}
	return at
}
