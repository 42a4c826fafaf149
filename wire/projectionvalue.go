package wire

import (
	"encoding"
	"encoding/json"
	"reflect"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// viewValue reads values of one type of a view.
type viewValue struct {
	json jsonRead
	// proto reads one value; of a list or map, one element, for which grow makes room before.
	proto protoRead
	grow  growFunc
}

// jsonRead reads the value at the reader, which is not null, into a zero value of its type.
type jsonRead func(d *viewReader, p unsafe.Pointer) error

var (
	rawMessage      = reflect.TypeFor[json.RawMessage]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// value compiles a type of a view for the type that the API has there, or nil. optional: there may
// be nothing, even if the API has no pointer.
func (c *viewCompiler) value(t, api reflect.Type, optional bool, path, name string) (viewValue, error) {
	if t.Kind() == reflect.Pointer {
		if api != nil && api.Kind() != reflect.Pointer && !optional {
			return viewValue{}, c.wrong(name, path, "it is a pointer, but %s is %v, which is always there", path, api)
		}
		elem, err := c.value(t.Elem(), api, optional, path, name)
		if err == nil && c.proto && elem.grow != nil {
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
	case t == api && t == reflect.TypeFor[metav1.Time]():
		return viewValue{json: jsonWhole(t), proto: protoTime}, nil
	case t == api && (own || t.Kind() == reflect.Struct):
		return viewValue{json: jsonWhole(t), proto: protoWhole(t)}, nil
	case !c.proto && (t == rawMessage || t.Kind() == reflect.Interface && t.NumMethod() == 0):
		return viewValue{json: jsonWhole(t)}, nil
	case own && api != nil:
		return viewValue{}, c.wrong(name, path, "it is %v, but %s is %v", t, path, api)
	case own:
		return viewValue{json: jsonWhole(t)}, nil
	case api != nil && hasOwnForm(api):
		return viewValue{}, c.wrong(name, path, "it is %v, but %s is %v, which has a form of its own", t, path, api)
	}
	fits := func(ok bool) error {
		if api == nil || ok {
			return nil
		}
		return c.wrong(name, path, "%v cannot hold %s, which is %v", t, path, api)
	}
	apiKind := reflect.Invalid
	if api != nil {
		apiKind = api.Kind()
	}
	switch kind := t.Kind(); kind {
	case reflect.String:
		return viewValue{json: jsonString, proto: protoString}, fits(apiKind == kind)
	case reflect.Bool:
		return viewValue{json: jsonBool, proto: protoBool}, fits(apiKind == kind)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		ok := apiKind >= reflect.Int && apiKind <= reflect.Int64 && api.Bits() <= t.Bits()
		return intValue(t, api), fits(ok)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		ok := apiKind >= reflect.Uint && apiKind <= reflect.Uint64 && api.Bits() <= t.Bits()
		return uintValue(t, api), fits(ok)
	case reflect.Float32, reflect.Float64:
		return floatValue(t), fits(apiKind == kind)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return viewValue{json: jsonBytes, proto: protoBytes}, fits(apiKind == kind && api.Elem().Kind() == reflect.Uint8)
		}
		if err := fits(apiKind == kind); err != nil {
			return viewValue{}, err
		}
		return c.list(t, api, path+"[*]", name)
	case reflect.Map:
		if t.Key().Kind() != reflect.String || reflect.PointerTo(t.Key()).Implements(textUnmarshaler) {
			return viewValue{}, c.wrong(name, path, "the keys of %v are no strings", t)
		}
		if err := fits(apiKind == kind && api.Key().Kind() == reflect.String); err != nil {
			return viewValue{}, err
		}
		return c.mapping(t, api, path+"[*]", name)
	case reflect.Struct:
		if err := fits(apiKind == kind || apiKind == reflect.Map); err != nil {
			return viewValue{}, err
		}
		return c.region(t, api, path, name)
	}
	return viewValue{}, c.wrong(name, path, "a view cannot have a %v", t)
}

// region compiles a struct that is read into memory of its own.
func (c *viewCompiler) region(t, api reflect.Type, path, name string) (viewValue, error) {
	at := place{json: &jsonNode{}, api: api, path: path}
	v := viewValue{json: at.json.read}
	if c.proto {
		at.proto = &protoNode{}
		node := at.proto
		v.proto = func(d *viewReader, f protoValue, p unsafe.Pointer) error {
			b, err := f.message()
			if err != nil {
				return err
			}
			return node.read(d, b, p)
		}
	}
	return v, c.structure(t, 0, at, name)
}

func (c *viewCompiler) list(t, api reflect.Type, path, name string) (viewValue, error) {
	if api != nil {
		api = api.Elem()
	}
	elem, err := c.value(t.Elem(), api, false, path, name)
	if err == nil && c.proto && elem.grow != nil {
		err = c.wrong(name, path, "lists of lists and of maps are not supported")
	}
	if err != nil {
		return viewValue{}, err
	}
	return listValue(t, elem), nil
}

func (c *viewCompiler) mapping(t, api reflect.Type, path, name string) (viewValue, error) {
	if t.Elem().Kind() == reflect.String && !hasOwnForm(t.Elem()) && (api == nil || api.Elem().Kind() == reflect.String && !hasOwnForm(api.Elem())) {
		return stringMapValue, nil
	}
	if api != nil {
		api = api.Elem()
	}
	elem, err := c.value(t.Elem(), api, true, path, name)
	if err == nil && c.proto && elem.grow != nil {
		err = c.wrong(name, path, "maps of lists and of maps are not supported")
	}
	if err != nil {
		return viewValue{}, err
	}
	return mapValue(t, elem), nil
}
