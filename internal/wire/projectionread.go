package wire

import (
	"encoding/binary"
	"math"
	"reflect"
	"unsafe"

	"github.com/flyball-io/flyball/internal/decode"
	"github.com/flyball-io/flyball/internal/protoscan"
)

func protoString(d *viewReader, c protoscan.Cursor, p unsafe.Pointer) error {
	*(*string)(p) = d.keep(c.Bytes())
	return c.Err
}

func protoBytes(_ *viewReader, c protoscan.Cursor, p unsafe.Pointer) error {
	*(*[]byte)(p) = append([]byte{}, c.Bytes()...)
	return c.Err
}

func protoBool(_ *viewReader, c protoscan.Cursor, p unsafe.Pointer) error {
	*(*bool)(p) = c.Uint() != 0
	return c.Err
}

// protoWhole reads a message of a type of the API.
func protoWhole(t reflect.Type) protoRead {
	return func(_ *viewReader, c protoscan.Cursor, p unsafe.Pointer) error {
		b := c.Bytes()
		if c.Err != nil {
			return c.Err
		}
		into := reflect.NewAt(t, p)
		if m, ok := into.Interface().(message); ok && !into.Elem().IsZero() {
			return m.Unmarshal(b) // merges with an earlier value
		}
		if t.Kind() == reflect.Slice {
			into.Elem().Set(reflect.MakeSlice(t, 0, 0))
		}
		return decode.Protobuf(b, into.Interface())
	}
}

// wholeValue reads whole numbers. Their width on the wire is that of the API type.
func wholeValue(t, api reflect.Type) viewValue {
	unused, set, signed := 0, setInt(t), isInt(t)
	if api != nil {
		unused = 64 - api.Bits()
	}
	return viewValue{
		packs: true,
		json: func(d *viewReader, p unsafe.Pointer) error {
			if signed {
				n, err := d.Int(t.Bits())
				set(p, n)
				return err
			}
			n, err := d.Uint(t.Bits())
			set(p, int64(n))
			return err
		},
		proto: func(_ *viewReader, c protoscan.Cursor, p unsafe.Pointer) error {
			n := c.Uint()
			if n <<= unused; signed { // the generated code drops the upper bits
				set(p, int64(n)>>unused)
			} else {
				set(p, int64(n>>unused))
			}
			return c.Err
		},
	}
}

func setInt(t reflect.Type) func(unsafe.Pointer, int64) {
	switch t.Size() {
	case 1:
		return func(p unsafe.Pointer, n int64) { *(*int8)(p) = int8(n) }
	case 2:
		return func(p unsafe.Pointer, n int64) { *(*int16)(p) = int16(n) }
	case 4:
		return func(p unsafe.Pointer, n int64) { *(*int32)(p) = int32(n) }
	}
	return func(p unsafe.Pointer, n int64) { *(*int64)(p) = n }
}

func floatValue(t reflect.Type) viewValue {
	return viewValue{
		json: func(d *viewReader, p unsafe.Pointer) error {
			f, err := d.Float(t.Bits())
			if t.Size() == 4 {
				*(*float32)(p) = float32(f)
			} else {
				*(*float64)(p) = f
			}
			return err
		},
		proto: func(_ *viewReader, c protoscan.Cursor, p unsafe.Pointer) error {
			switch {
			case t.Size() == 4 && c.Type == protoscan.Fixed32:
				*(*float32)(p) = math.Float32frombits(binary.LittleEndian.Uint32(c.B[c.I-4:]))
			case t.Size() == 8 && c.Type == protoscan.Fixed64:
				*(*float64)(p) = math.Float64frombits(binary.LittleEndian.Uint64(c.B[c.I-8:]))
			default:
				c.Wrong()
			}
			return c.Err
		},
	}
}

// pointerValue reads the value of a pointer. A message that occurs twice is merged.
func pointerValue(t reflect.Type, elem viewValue) viewValue {
	fresh := func(p unsafe.Pointer) unsafe.Pointer {
		to := reflect.New(t.Elem()).UnsafePointer()
		*(*unsafe.Pointer)(p) = to
		return to
	}
	v := viewValue{
		null: func(p unsafe.Pointer) { fresh(p) },
		json: func(d *viewReader, p unsafe.Pointer) error { return elem.json(d, fresh(p)) },
	}
	if elem.proto != nil {
		v.proto = func(d *viewReader, c protoscan.Cursor, p unsafe.Pointer) error {
			to := *(*unsafe.Pointer)(p)
			if to == nil || c.Type != protoscan.Bytes {
				to = fresh(p)
			}
			return elem.proto(d, c, to)
		}
	}
	return v
}
