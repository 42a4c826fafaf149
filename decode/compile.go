package decode

import (
	"encoding"
	gojson "encoding/json"
	"reflect"
	"strings"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// compiler makes the plan of a type from those of its parts. A type that the fast way does not
// know makes it fail as a whole.
type compiler struct {
	open   map[reflect.Type]*plan // structs that are made or being made: types may contain themselves
	failed bool
}

var (
	unmarshaler     = reflect.TypeFor[gojson.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	anyType         = reflect.TypeFor[any]()
	bytesType       = reflect.TypeFor[[]byte]()
)

// special are types whose own methods are known well enough to do without.
var special = map[reflect.Type]plan{
	reflect.TypeFor[metav1.Time]():        timePlan,
	reflect.TypeFor[intstr.IntOrString](): intOrStringPlan,
	reflect.TypeFor[gojson.Number]():      nil,
}

func (c *compiler) plan(t reflect.Type) plan {
	if t.Kind() == reflect.Pointer {
		return pointerPlan(t, c.plan(t.Elem()))
	}
	if p, ok := special[t]; ok {
		return c.must(p)
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return c.must(ownPlan(t))
	}
	if t.Implements(textUnmarshaler) || reflect.PointerTo(t).Implements(textUnmarshaler) {
		return c.must(nil)
	}
	switch t.Kind() {
	case reflect.String:
		return stringPlan
	case reflect.Bool:
		return boolPlan
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intPlan(t)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return uintPlan(t)
	case reflect.Float32, reflect.Float64:
		return floatPlan(t)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			if t != bytesType {
				return c.must(nil)
			}
			return bytesPlan
		}
		return slicePlan(t, c.plan(t.Elem()))
	case reflect.Map:
		return c.mapPlan(t)
	case reflect.Interface:
		if t == anyType {
			return anyPlan
		}
	case reflect.Struct:
		return c.structPlan(t)
	}
	return c.must(nil)
}

// must notes where there is no plan.
func (c *compiler) must(p plan) plan {
	if p == nil {
		c.failed = true
	}
	return p
}

func (c *compiler) mapPlan(t reflect.Type) plan {
	key := t.Key()
	if key.Kind() != reflect.String || key.Implements(textUnmarshaler) || reflect.PointerTo(key).Implements(textUnmarshaler) {
		return c.must(nil)
	}
	switch t.Elem() {
	case reflect.TypeFor[string]():
		return stringMapPlan
	case anyType:
		return anyMapPlan
	}
	return mapPlan(t, c.plan(t.Elem()))
}

// field is a member of a struct, or of a struct that is embedded in it.
type field struct {
	name   string
	offset uintptr
	plan   plan
}

func (c *compiler) structPlan(t reflect.Type) plan {
	if p := c.open[t]; p != nil {
		return func(r *reader, into unsafe.Pointer) bool { return (*p)(r, into) }
	}
	p := new(plan)
	c.open[t] = p
	var fields []field
	c.fields(t, 0, &fields)
	index := make(map[string]int, len(fields))
	for i, f := range fields {
		if _, twice := index[f.name]; twice {
			c.failed = true // which one wins is a science
		}
		index[f.name] = i
	}
	*p = structPlan(fields, index)
	return *p
}

func (c *compiler) fields(t reflect.Type, offset uintptr, all *[]field) {
	for f := range t.Fields() {
		tag, has := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-":
			continue
		case f.Anonymous && name == "":
			if f.Type.Kind() != reflect.Struct || reflect.PointerTo(f.Type).Implements(unmarshaler) {
				c.failed = true
				return
			}
			c.fields(f.Type, offset+f.Offset, all)
			continue
		case !f.IsExported():
			continue
		case has && (options == "string" || strings.Contains(options, "string")) || !plainName(name):
			c.failed = true
			return
		case name == "":
			name = f.Name
		}
		*all = append(*all, field{name, offset + f.Offset, c.plan(f.Type)})
	}
}

// plainName reports whether the name of a tag is one that every decoder takes as it is.
func plainName(name string) bool {
	for _, c := range []byte(name) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' || c == '$' || c == '/') {
			return false
		}
	}
	return true
}
