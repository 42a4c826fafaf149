package decode

import (
	"encoding"
	gojson "encoding/json"
	"reflect"
	"slices"
	"strings"
	"unsafe"

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
var special = map[reflect.Type]struct {
	read readFunc
	null bool
}{
	reflect.TypeFor[metav1.Time]():        {read: (*reader).time},
	reflect.TypeFor[intstr.IntOrString](): {read: (*reader).intOrString, null: true},
	quantityType:                          {read: (*reader).quantity},
}

func (c *compiler) plan(t reflect.Type) *plan {
	if p := c.open[t]; p != nil {
		return p
	}
	p := &plan{t: t}
	if k, ok := special[t]; ok {
		p.read, p.null = k.read, k.null
		return p
	}
	if t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(unmarshaler) {
		p.read, p.null = (*reader).custom, true
		return p
	}
	if t.Kind() != reflect.Pointer && (t.Implements(textUnmarshaler) || reflect.PointerTo(t).Implements(textUnmarshaler)) || t == reflect.TypeFor[gojson.Number]() {
		c.failed = true
		return p
	}
	switch t.Kind() {
	case reflect.Pointer:
		p.read, p.elem, p.block = (*reader).pointer, c.plan(t.Elem()), c.blocks.block(t.Elem())
	case reflect.String:
		p.read = (*reader).string
	case reflect.Bool:
		p.read = (*reader).bool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.read, p.bits = (*reader).int, t.Bits()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		p.read, p.bits = (*reader).uint, t.Bits()
	case reflect.Float32, reflect.Float64:
		p.read, p.bits = (*reader).float, t.Bits()
	case reflect.Slice:
		switch {
		case t == bytesType:
			p.read = (*reader).bytes
		case t.Elem().Kind() == reflect.Uint8:
			c.failed = true
		default:
			p.read, p.elem, p.block = (*reader).list, c.plan(t.Elem()), c.blocks.block(t.Elem())
		}
	case reflect.Map:
		c.mapPlan(p)
	case reflect.Struct:
		c.structPlan(p)
	default:
		p.read = func(r *reader, _ *plan, i int, into unsafe.Pointer) (next int) {
			*(*any)(into), next = r.any(i)
			return next
		}
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
		p.read = (*reader).stringMap
	case anyType:
		p.read = func(r *reader, _ *plan, i int, into unsafe.Pointer) (next int) {
			*(*map[string]any)(into), next = r.anyMap(i)
			return next
		}
	default:
		p.read, p.elem = (*reader).typedMap, c.plan(p.t.Elem())
	}
}

func (c *compiler) structPlan(p *plan) {
	p.read = (*reader).object
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
