package decode

import (
	"encoding"
	gojson "encoding/json"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flyball-io/flyball/internal/gofield"
)

// compiler makes the plan of a type from those of its parts. It fails for types that the fast path
// does not support.
type compiler struct {
	open   map[reflect.Type]*plan // finished and unfinished structs: types may contain themselves
	blocks blocks
	failed bool
}

var (
	unmarshaler     = reflect.TypeFor[gojson.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	anyType         = reflect.TypeFor[any]()
	bytesType       = reflect.TypeFor[[]byte]()
	quantityType    = reflect.TypeFor[resource.Quantity]()
)

// special are types with methods that the package replaces by its own code.
var special = map[reflect.Type]planKind{
	reflect.TypeFor[metav1.Time]():        asTime,
	reflect.TypeFor[intstr.IntOrString](): asIntOrString,
	quantityType:                          asQuantity,
}

func (c *compiler) plan(t reflect.Type) *plan {
	if p := c.open[t]; p != nil {
		return p
	}
	p := &plan{t: t}
	if k, ok := special[t]; ok {
		p.kind = k
		return p
	}
	if t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(unmarshaler) {
		p.kind = asCustom
		return p
	}
	if t.Kind() != reflect.Pointer && (t.Implements(textUnmarshaler) || reflect.PointerTo(t).Implements(textUnmarshaler)) || t == reflect.TypeFor[gojson.Number]() {
		c.failed = true
		return p
	}
	switch t.Kind() {
	case reflect.Pointer:
		p.kind, p.elem, p.block = asPointer, c.plan(t.Elem()), c.blocks.block(t.Elem())
	case reflect.String:
		p.kind = asString
	case reflect.Bool:
		p.kind = asBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.kind, p.bits = asInt, t.Bits()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		p.kind, p.bits = asUint, t.Bits()
	case reflect.Float32, reflect.Float64:
		p.kind, p.bits = asFloat, t.Bits()
	case reflect.Slice:
		switch {
		case t == bytesType:
			p.kind = asBytes
		case t.Elem().Kind() == reflect.Uint8:
			c.failed = true
		default:
			p.kind, p.elem, p.block = asList, c.plan(t.Elem()), c.blocks.block(t.Elem())
		}
	case reflect.Map:
		c.mapPlan(p)
	case reflect.Struct:
		c.structPlan(p)
	default:
		p.kind = asAny
		c.failed = c.failed || t != anyType
	}
	return p
}

func (c *compiler) mapPlan(p *plan) {
	key := p.t.Key()
	if key.Kind() != reflect.String || key.Implements(textUnmarshaler) || reflect.PointerTo(key).Implements(textUnmarshaler) {
		c.failed = true
		return
	}
	switch p.t.Elem() {
	case stringType:
		p.kind = asStringMap
	case anyType:
		p.kind = asAnyMap
	default:
		p.kind, p.elem = asMap, c.plan(p.t.Elem())
	}
}

func (c *compiler) structPlan(p *plan) {
	p.kind = asStruct
	c.open[p.t] = p
	members := gofield.Of(p.t)
	p.names = make(map[string]int, len(members))
	for i, f := range members {
		if f.Pointer || f.Tag.Quoted || !plainName(f.Tag.Name) {
			c.failed = true
			return
		}
		offset := f.Go.Offset
		for _, via := range f.Via {
			offset += via.Offset
		}
		p.names[f.Name] = i
		p.sorted = append(p.sorted, int16(i))
		p.fields = append(p.fields, field{`"` + f.Name + `":`, offset, c.plan(f.Go.Type)})
	}
	slices.SortFunc(p.sorted, func(a, b int16) int { return strings.Compare(members[a].Name, members[b].Name) })
	p.rank = make([]int16, len(members))
	for i, n := range p.sorted {
		p.rank[n] = int16(i)
	}
}

// plainName reports whether every decoder takes the name of a tag literally.
func plainName(name string) bool {
	for _, c := range []byte(name) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' || c == '$' || c == '/') {
			return false
		}
	}
	return true
}
