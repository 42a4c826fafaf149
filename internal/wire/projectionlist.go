package wire

import (
	"reflect"
	"unsafe"

	"github.com/flyball-io/flyball/internal/protoscan"
)

// slice is the memory layout of a Go slice.
type slice struct {
	data     unsafe.Pointer
	len, cap int
}

// listValue reads slices.
func listValue(t reflect.Type, elem viewValue) viewValue {
	size := t.Elem().Size()
	grow := func(p unsafe.Pointer, n int) {
		if s := (*slice)(p); s.cap-s.len < n {
			reflect.NewAt(t, p).Elem().Grow(n)
		}
	}
	next := func(p unsafe.Pointer) unsafe.Pointer {
		s := (*slice)(p)
		s.len++
		return unsafe.Add(s.data, uintptr(s.len-1)*size)
	}
	v := viewValue{
		json: func(d *viewReader, p unsafe.Pointer) error {
			if !d.lend {
				n, err := d.Count()
				if err != nil {
					return err
				}
				reflect.NewAt(t, p).Elem().Set(reflect.MakeSlice(t, 0, n))
			}
			return d.Array(func() error {
				grow(p, 1)
				at := next(p)
				if d.Null() {
					return nil
				}
				return elem.json(d, at)
			})
		},
	}
	if elem.proto == nil {
		return v
	}
	v.grow = func(p unsafe.Pointer, c protoscan.Cursor) {
		if s := (*slice)(p); s.len == s.cap {
			grow(p, following(c))
		}
	}
	v.proto = func(d *viewReader, f protoscan.Cursor, p unsafe.Pointer) error {
		grow(p, 1)
		return elem.proto(d, f, next(p))
	}
	if elem.packs {
		one := v.proto
		v.proto = func(d *viewReader, f protoscan.Cursor, p unsafe.Pointer) error {
			if f.Type != protoscan.Bytes {
				return one(d, f, p)
			}
			c := protoscan.Cursor{B: f.Bytes(), Type: protoscan.Number} // packed: the numbers share a tag
			for c.I < len(c.B) {
				if c.Number = c.Varint(); c.Err != nil {
					return c.Err
				}
				if err := one(d, c, p); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return v
}

// growMap makes a map with room for the entries from the cursor on, if there is no map.
func growMap(t reflect.Type) growFunc {
	return func(p unsafe.Pointer, c protoscan.Cursor) {
		if *(*unsafe.Pointer)(p) == nil {
			reflect.NewAt(t, p).Elem().Set(reflect.MakeMapWithSize(t, following(c)))
		}
	}
}

// stringMapValue reads maps of strings, also of named types.
var stringMapValue = viewValue{
	grow: func(p unsafe.Pointer, c protoscan.Cursor) {
		if m := (*map[string]string)(p); *m == nil {
			*m = make(map[string]string, following(c))
		}
	},
	proto: func(d *viewReader, f protoscan.Cursor, p unsafe.Pointer) error {
		key, value, err := mapEntry(f.Message())
		if err != nil {
			return err
		}
		(*(*map[string]string)(p))[d.keep(key)] = d.keep(value.Bytes())
		return value.Err
	},
	json: func(d *viewReader, p unsafe.Pointer) error {
		m := make(map[string]string)
		*(*map[string]string)(p) = m
		return d.Object(func(name []byte) error {
			key, value := d.keep(name), ""
			if !d.Null() {
				if err := jsonString(d, unsafe.Pointer(&value)); err != nil {
					return err
				}
			}
			m[key] = value
			return nil
		})
	},
}

// mapValue reads maps whose keys are strings.
func mapValue(t reflect.Type, elem viewValue) viewValue {
	set := func(p unsafe.Pointer, key string, value reflect.Value) {
		k := reflect.New(t.Key()).Elem()
		k.SetString(key)
		reflect.NewAt(t, p).Elem().SetMapIndex(k, value)
	}
	v := viewValue{
		json: func(d *viewReader, p unsafe.Pointer) error {
			reflect.NewAt(t, p).Elem().Set(reflect.MakeMap(t))
			return d.Object(func(name []byte) error {
				key, value := d.keep(name), reflect.New(t.Elem())
				if !d.Null() {
					if err := elem.json(d, value.UnsafePointer()); err != nil {
						return err
					}
				}
				set(p, key, value.Elem())
				return nil
			})
		},
	}
	if elem.proto == nil {
		return v
	}
	v.grow = growMap(t)
	v.proto = func(d *viewReader, f protoscan.Cursor, p unsafe.Pointer) error {
		key, inner, err := mapEntry(f.Message())
		if err != nil {
			return err
		}
		value := reflect.New(t.Elem())
		if err := elem.proto(d, inner, value.UnsafePointer()); err != nil {
			return err
		}
		set(p, d.keep(key), value.Elem())
		return nil
	}
	return v
}
