package decode

import (
	"reflect"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/gofield"
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

// scalarOps are the ops of numbers: direct, behind a pointer, in a list.
var scalarOps = map[reflect.Kind][3]op{
	reflect.Bool:   {opBool, opBoolPointer, opBools},
	reflect.Int32:  {opInt32, opInt32Pointer, opInt32s},
	reflect.Uint32: {opInt32, opInt32Pointer, opInt32s},
	reflect.Int64:  {opInt64, opInt64Pointer, opInt64s},
	reflect.Uint64: {opInt64, opInt64Pointer, opInt64s},
}

func (c *protoCompiler) kindOf(p *protoField, t reflect.Type) {
	if ops, ok := scalarOps[t.Kind()]; ok {
		p.op, p.kind = ops[0], kindNumber
		return
	}
	switch t.Kind() {
	case reflect.String:
		p.op = opString
	case reflect.Struct:
		p.op, p.sub = opMessage, c.message(t)
	case reflect.Pointer:
		t = t.Elem()
		if ops, ok := scalarOps[t.Kind()]; ok {
			p.op, p.kind = ops[1], kindNumber
			return
		}
		switch t.Kind() {
		case reflect.String:
			p.op = opStringPointer
		case reflect.Struct:
			p.op, p.sub = opMessagePointer, c.message(t)
		default:
			c.failed = true
		}
	case reflect.Slice:
		if reflect.PointerTo(t).Implements(stockType) { // a message whose only field is the list
			p.op, p.sub, p.empty = opMessage, c.message(t), reflect.MakeSlice(t, 0, 0)
			return
		}
		if ops, ok := scalarOps[t.Elem().Kind()]; ok {
			p.op, p.kind = ops[2], kindNumber
			return
		}
		switch t.Elem().Kind() {
		case reflect.Uint8:
			p.op = opBytes
		case reflect.String:
			p.op = opStrings
		case reflect.Struct:
			p.op, p.sub = opMessages, c.message(t.Elem())
		default:
			c.failed = true
		}
	case reflect.Map:
		c.mapOf(p, t)
	default:
		c.failed = true
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
	for at < end {
		tag := d.src[at]
		if tag != 1<<3|kindNumber && tag != 2<<3|kindNumber {
			return false
		}
		var n uint64
		if n, at = d.number(at+1, end); at < 0 {
			return false
		}
		if tag == 1<<3|kindNumber {
			seconds = int64(n)
		}
	}
	t.Time = time.Unix(seconds, 0).Local()
	return true
}

// quantity reads a resource.Quantity, which keeps its source text.
func quantity(d *proto, at, end int, into unsafe.Pointer) bool {
	for at < end {
		if d.src[at] != 1<<3|kindBytes {
			return false
		}
		from, to := d.span(at+1, end)
		if to < 0 {
			return false
		}
		q, err := parseQuantity(d.src[from:to], &d.missed)
		if err != nil {
			return false
		}
		*(*resource.Quantity)(into) = q
		at = to
	}
	return true
}
