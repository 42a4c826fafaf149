package wire

import (
	"encoding"
	"encoding/json"
	"reflect"
	"unsafe"

	"github.com/flyball-io/flyball/internal/protoscan"
)

// viewValue reads values of one type of a view.
type viewValue struct {
	json jsonRead
	// proto reads one value, or one element of a list or map. grow makes room for the element.
	proto protoRead
	grow  growFunc
	null  func(unsafe.Pointer) // sets the value to a zero that exists; nil: it always exists
	packs bool                 // a list of them may be packed: the numbers share a tag
}

// jsonRead reads the value at the reader, which is not null, into a zero value of its type.
type jsonRead func(d *viewReader, p unsafe.Pointer) error

var (
	rawMessage      = reflect.TypeFor[json.RawMessage]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// value compiles a type of a view for a type of the API, or for nil. optional says that the value may be missing, even
// if the type of the API is not a pointer.
func (c *viewCompiler) value(t, api reflect.Type, optional bool, path, name string) (viewValue, error) {
	if t.Kind() == reflect.Pointer {
		if api != nil && api.Kind() != reflect.Pointer && !optional {
			return viewValue{}, c.wrong(name, path, "it is a pointer, but %s is %v, which is always there", path, api)
		}
		elem, err := c.value(t.Elem(), api, optional, path, name)
		if err == nil && c.p.proto && elem.grow != nil {
			err = c.wrong(name, path, "a pointer to %v is not supported", t.Elem())
		}
		if err != nil {
			return viewValue{}, err
		}
		return pointerValue(t, elem), nil
	}
	if api != nil {
		api, _ = deref(api)
	}
	own := hasOwnForm(t) || reflect.PointerTo(t).Implements(textUnmarshaler)
	switch {
	case t == api && (own || t.Kind() == reflect.Struct):
		return viewValue{json: jsonWhole(t), proto: protoWhole(t)}, nil
	case !c.p.proto && (t == rawMessage || t.Kind() == reflect.Interface && t.NumMethod() == 0):
		return viewValue{json: jsonWhole(t)}, nil
	case own && api != nil:
		return viewValue{}, c.wrong(name, path, "it is %v, but %s is %v", t, path, api)
	case own:
		return viewValue{json: jsonWhole(t)}, nil
	case api != nil && hasOwnForm(api):
		return viewValue{}, c.wrong(name, path, "it is %v, but %s is %v, which has a form of its own", t, path, api)
	}
	kind := t.Kind()
	switch {
	case kind == reflect.Invalid, kind == reflect.Uintptr, kind > reflect.Float64 && kind < reflect.Map, kind > reflect.Struct:
		return viewValue{}, c.wrong(name, path, "a view cannot have a %v", t)
	case kind == reflect.Map && (t.Key().Kind() != reflect.String || reflect.PointerTo(t.Key()).Implements(textUnmarshaler)):
		return viewValue{}, c.wrong(name, path, "the keys of %v are no strings", t)
	case api != nil && !holds(t, api):
		return viewValue{}, c.wrong(name, path, "%v cannot hold %s, which is %v", t, path, api)
	}
	switch {
	case kind == reflect.String:
		return viewValue{json: jsonString, proto: protoString}, nil
	case kind == reflect.Bool:
		return viewValue{json: jsonBool, proto: protoBool, packs: true}, nil
	case isInt(t), isUint(t):
		return wholeValue(t, api), nil
	case isBytes(t):
		return viewValue{json: jsonWhole(t), proto: protoBytes}, nil
	case kind == reflect.Slice:
		return c.list(t, api, path+"[*]", name)
	case kind == reflect.Map:
		return c.mapping(t, api, path+"[*]", name)
	case kind == reflect.Struct:
		at, v := c.region(api, path)
		return v, c.structure(t, 0, at, name)
	}
	return floatValue(t), nil
}

// holds reports whether values of a type of the API fit a type of a view. It does not compare inner types.
func holds(t, api reflect.Type) bool {
	switch {
	case isInt(t):
		return isInt(api) && api.Bits() <= t.Bits()
	case isUint(t):
		return isUint(api) && api.Bits() <= t.Bits()
	case t.Kind() == reflect.Map:
		return api.Kind() == reflect.Map && api.Key().Kind() == reflect.String
	case t.Kind() == reflect.Struct:
		return api.Kind() == reflect.Struct || api.Kind() == reflect.Map
	}
	return t.Kind() == api.Kind() && isBytes(t) == isBytes(api)
}

func isInt(t reflect.Type) bool  { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64 }
func isUint(t reflect.Type) bool { return t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64 }
func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// region returns an object with its own memory.
func (c *viewCompiler) region(api reflect.Type, path string) (place, viewValue) {
	node := &viewNode{}
	v := viewValue{json: node.read}
	if c.p.proto {
		v.proto = func(d *viewReader, f protoscan.Cursor, p unsafe.Pointer) error {
			b := f.Bytes()
			if f.Err != nil {
				return f.Err
			}
			return node.readProto(d, b, p)
		}
	}
	return place{node: node, api: api, path: path}, v
}

func (c *viewCompiler) list(t, api reflect.Type, path, name string) (viewValue, error) {
	elem, err := c.element(t, api, false, path, name, "lists")
	if err != nil {
		return viewValue{}, err
	}
	return listValue(t, elem), nil
}

// element compiles the elements of a list or a map; of says which.
func (c *viewCompiler) element(t, api reflect.Type, inMap bool, path, name, of string) (viewValue, error) {
	if api != nil {
		api = api.Elem()
	}
	elem, err := c.value(t.Elem(), api, inMap, path, name)
	if err == nil && c.p.proto && elem.grow != nil {
		err = c.wrong(name, path, "%s of lists and of maps are not supported", of)
	}
	return elem, err
}

func (c *viewCompiler) mapping(t, api reflect.Type, path, name string) (viewValue, error) {
	if t.Elem().Kind() == reflect.String && !hasOwnForm(t.Elem()) && (api == nil || api.Elem().Kind() == reflect.String && !hasOwnForm(api.Elem())) {
		return stringMapValue, nil
	}
	elem, err := c.element(t, api, true, path, name, "maps")
	if err != nil {
		return viewValue{}, err
	}
	return mapValue(t, elem), nil
}
