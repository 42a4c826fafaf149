package decode

import (
	"reflect"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/gofield"
	"github.com/flyball-io/flyball/internal/protoscan"
)

// protoCompiler makes the table of a type from those of its parts. It fails for types that the fast
// path does not support.
type protoCompiler struct {
	open   map[reflect.Type]*message
	blocks blocks
	failed bool
}

var stockType = reflect.TypeFor[stockMessage]()

func (c *protoCompiler) message(t reflect.Type) *message {
	if m := c.open[t]; m != nil {
		return m
	}
	m := &message{}
	c.open[t] = m
	switch t {
	case reflect.TypeFor[metav1.Time]():
		m.custom = timeMessage
		return m
	case reflect.TypeFor[resource.Quantity]():
		m.custom = quantity
		return m
	}
	if t.Kind() == reflect.Struct {
		for f := range t.Fields() {
			if tag := f.Tag.Get("protobuf"); tag != "" && tag != "-" {
				c.field(m, f, gofield.Number(f.Tag))
			}
		}
	}
	if len(m.fields) == 0 {
		if !reflect.PointerTo(t).Implements(stockType) {
			c.failed = true
		}
		m.custom = customMessage(t)
	}
	return m
}

func (c *protoCompiler) field(m *message, f reflect.StructField, n int) {
	const maxNumber = 999
	if n > maxNumber {
		n = 0
	}
	for len(m.index) <= n {
		m.index = append(m.index, 0)
	}
	if n == 0 || m.index[n] != 0 || len(m.fields) == 255 || !f.IsExported() {
		c.failed = true
		return
	}
	p := protoField{offset: f.Offset, kind: kindBytes, shape: &shape{t: f.Type}}
	c.kindOf(&p, f.Type)
	if p.op == opMessage && !p.empty.IsValid() {
		p.shape = nil // it is stored in place
	}
	switch p.op {
	case opStringPointer, opBoolPointer, opInt32Pointer, opInt64Pointer, opMessagePointer, opStrings, opMessages:
		p.block = c.blocks.block(f.Type.Elem())
	}
	m.fields = append(m.fields, p)
	m.index[n] = uint8(len(m.fields))
}

// elemOps are the ops of values by their kind: direct, behind a pointer, in a list.
var elemOps = map[reflect.Kind][3]op{
	reflect.Bool:   {opBool, opBoolPointer, opBools},
	reflect.Int32:  {opInt32, opInt32Pointer, opInt32s},
	reflect.Uint32: {opInt32, opInt32Pointer, opInt32s},
	reflect.Int64:  {opInt64, opInt64Pointer, opInt64s},
	reflect.Uint64: {opInt64, opInt64Pointer, opInt64s},
	reflect.String: {opString, opStringPointer, opStrings},
	reflect.Struct: {opMessage, opMessagePointer, opMessages},
}

func (c *protoCompiler) kindOf(p *protoField, t reflect.Type) {
	elem, shape := t, 0
	switch kind := t.Kind(); {
	case kind == reflect.Map:
		c.mapOf(p, t)
		return
	case kind == reflect.Slice && reflect.PointerTo(t).Implements(stockType): // a message whose only field is the list
		p.op, p.sub, p.empty = opMessage, c.message(t), reflect.MakeSlice(t, 0, 0)
		return
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		p.op = opBytes
		return
	case kind == reflect.Pointer:
		elem, shape = t.Elem(), 1
	case kind == reflect.Slice:
		elem, shape = t.Elem(), 2
	}
	ops, ok := elemOps[elem.Kind()]
	c.failed = c.failed || !ok
	switch p.op = ops[shape]; elem.Kind() {
	case reflect.String:
	case reflect.Struct:
		p.sub = c.message(elem)
	default:
		p.kind = kindNumber
	}
}

func (c *protoCompiler) mapOf(p *protoField, t reflect.Type) {
	if t.Key().Kind() != reflect.String {
		c.failed = true
		return
	}
	switch e := t.Elem(); {
	case e.Kind() == reflect.String:
		p.op = opStringMap
	case e == bytesType:
		p.op = opBytesMap
	case e == reflect.TypeFor[resource.Quantity]():
		p.op = opQuantityMap
	case e.Kind() == reflect.Struct:
		p.op, p.sub = opMap, c.message(e)
	case e.Kind() == reflect.Slice && reflect.PointerTo(e).Implements(stockType):
		p.op, p.sub, p.empty = opMap, c.message(e), reflect.MakeSlice(e, 0, 0)
	default:
		c.failed = true
	}
}

// customMessage decodes with the type's own method. Generated methods copy what they keep.
func customMessage(t reflect.Type) func(*proto, int, int, unsafe.Pointer) bool {
	return func(d *proto, from, to int, into unsafe.Pointer) bool {
		m, ok := reflect.NewAt(t, into).Interface().(stockMessage)
		return ok && m.Unmarshal(d.src[from:to:to]) == nil
	}
}

// timeMessage reads a metav1.Time and ignores its nanoseconds.
func timeMessage(d *proto, at, end int, into unsafe.Pointer) bool {
	t := (*metav1.Time)(into)
	if at == end {
		t.Time = time.Time{}
		return true
	}
	var seconds int64
	c := protoscan.Cursor{B: d.src[:end], I: at}
	for c.Next() {
		switch n := c.Uint(); c.Num {
		case 1:
			seconds = int64(n)
		case 2:
		default:
			return false
		}
	}
	t.Time = time.Unix(seconds, 0).Local()
	return c.Err == nil
}

// quantity reads a resource.Quantity, which keeps its source text.
func quantity(d *proto, at, end int, into unsafe.Pointer) bool {
	c := protoscan.Cursor{B: d.src[:end], I: at}
	for c.Next() {
		text := c.Bytes()
		if c.Num != 1 || c.Err != nil {
			return false
		}
		q, err := parseQuantity(text, &d.missed)
		if err != nil {
			return false
		}
		*(*resource.Quantity)(into) = q
	}
	return c.Err == nil
}
