package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Path is a compiled field path. It is read-only and may be used by many goroutines.
type Path struct {
	text  string
	hops  []hop
	leaf  leaf
	bits  int  // of an integer
	proto bool // the hops know their protobuf fields
}

// hop is one step of a path: a member of an object, and what is taken of its value.
type hop struct {
	name   string // of the member, in JSON; unused if bare
	bare   bool   // no member: the value itself, as the second step of "a[*][*]"
	nums   []int  // protobuf fields that lead to it: one, or more where a struct is inlined in JSON
	access access
	key    string // for byKey
	// zero says that a typed object has a value here even if the member is not on the wire.
	zero bool
	// elemZero says the same of an element or map value that is null or empty.
	elemZero bool
}

type access uint8

const (
	single access = iota
	each          // every element of a list
	byKey         // one entry of a map
)

// leaf is how the value at the end of a path is written.
type leaf uint8

const (
	anyLeaf leaf = iota // JSON without a Go type
	stringLeaf
	intLeaf
	uintLeaf
	boolLeaf
	timeLeaf
	quantityLeaf
	intOrStringLeaf
)

// CompilePath compiles a field path of a kind:
//
//	spec.nodeName
//	metadata.labels[app]
//	metadata.labels['app.kubernetes.io/name']
//	spec.containers[*].image
//
// Names are those of the JSON form. In brackets stands the key of a map, quoted or not, or * for
// every element of a list. The value is a string, a whole number, a boolean, a metav1.Time, a
// resource.Quantity or an intstr.IntOrString.
//
// t is the Go type of the kind, see [Kind.GoType]; the path is checked against it, and what does
// not fit is a *[PathError] that names the segment. If t is nil, anything that parses is accepted,
// and only JSON can be read.
func CompilePath(t reflect.Type, path string) (*Path, error) {
	segments, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	p := &Path{text: path}
	if t == nil {
		for _, s := range segments {
			p.hops = append(p.hops, hop{name: s.name, bare: s.bare, access: s.access, key: s.key})
		}
		return p, nil
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	p.proto = HasProtobuf(t)
	var pointers []bool // of each hop: the value, or for each and byKey the element, is a pointer
	for _, s := range segments {
		f, pointer, reason := descend(t, s)
		if reason == "" && p.proto && f.nums == nil {
			reason = "it is not part of the protobuf form"
		}
		if reason != "" {
			return nil, &PathError{Path: path, Segment: s.String(), Reason: reason}
		}
		t = f.typ
		pointers = append(pointers, pointer)
		p.hops = append(p.hops, hop{name: s.name, nums: f.nums, access: s.access, key: s.key})
	}
	leaf, ok := leafOf(t)
	if !ok {
		last := segments[len(segments)-1]
		return nil, &PathError{Path: path, Segment: last.String(), Reason: fmt.Sprintf("%v is no single value", t)}
	}
	p.leaf = leaf
	if leaf == intLeaf || leaf == uintLeaf {
		p.bits = t.Bits()
	}
	p.markZeros(pointers)
	return p, nil
}

// descend takes one step from a struct type. The field it returns has the type that the next step
// starts from; pointer reports whether that may be nil. reason says why the step cannot be taken.
func descend(t reflect.Type, s segment) (f field, pointer bool, reason string) {
	if s.bare {
		return f, false, "lists of lists are not supported"
	}
	if t.Kind() != reflect.Struct || hasOwnForm(t) {
		return f, false, t.String() + " has no fields to name"
	}
	f, ok := findField(t, s.name)
	if !ok {
		return f, false, t.String() + " has no such field"
	}
	f.typ, pointer = deref(f.typ)
	pointer = pointer || f.pointer
	kind := f.typ.Kind()
	switch {
	case kind != reflect.Struct && hasOwnForm(f.typ):
		return f, false, f.typ.String() + " has a form of its own"
	case s.access == each && (kind != reflect.Slice || f.typ.Elem().Kind() == reflect.Uint8):
		return f, false, f.typ.String() + " is no list"
	case s.access == byKey && (kind != reflect.Map || f.typ.Key().Kind() != reflect.String):
		return f, false, f.typ.String() + " is no map of names"
	case s.access == single && kind == reflect.Map:
		return f, false, "it is a map: name a key in brackets"
	case s.access == single && kind == reflect.Slice:
		return f, false, "it is a list: use [*]"
	}
	if s.access != single {
		f.typ, pointer = deref(f.typ.Elem())
	}
	return f, pointer, ""
}

// String is the path as it was given.
func (p *Path) String() string { return p.text }

// Member is the JSON name of the member of the object in which the path begins, and that of the member
// of this one: "metadata", "labels". Either may be empty, the second also where there are none.
func (p *Path) Member() (name, inner string) {
	name = p.hops[0].name
	if len(p.hops) > 1 && p.hops[0].access == single {
		inner = p.hops[1].name
	}
	return name, inner
}

// markZeros works out, from the end, where a Go object has a zero value although nothing is on the
// wire.
func (p *Path) markZeros(pointers []bool) {
	below := p.leaf != timeLeaf // a time that is not set has no text
	for i := len(p.hops) - 1; i >= 0; i-- {
		h := &p.hops[i]
		here := below && !pointers[i]
		h.zero, h.elemZero = here && h.access == single, here
		below = h.zero
	}
}

// field is a struct field as the wire has it.
type field struct {
	typ     reflect.Type
	nums    []int // nil if it has no protobuf form
	pointer bool  // an inlined struct on the way is a pointer
}

// findField finds a field by its JSON name, inlined structs included.
func findField(t reflect.Type, name string) (field, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		num := protobufField(f)
		if f.Anonymous && tag == "" {
			inner, pointer := deref(f.Type)
			if inner.Kind() != reflect.Struct {
				continue
			}
			found, ok := findField(inner, name)
			if !ok {
				continue
			}
			found.pointer = found.pointer || pointer
			if num == 0 {
				found.nums = nil
			} else if found.nums != nil {
				found.nums = append([]int{num}, found.nums...)
			}
			return found, true
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		if tag == "" {
			tag = f.Name
		}
		if tag != name {
			continue
		}
		found := field{typ: f.Type}
		if num != 0 {
			found.nums = []int{num}
		}
		return found, true
	}
	return field{}, false
}

// protobufField is the number in a tag such as `protobuf:"bytes,10,opt,name=nodeName"`, or 0.
func protobufField(f reflect.StructField) int {
	parts := strings.Split(f.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return 0
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0
	}
	return n
}

func deref(t reflect.Type) (reflect.Type, bool) {
	if t.Kind() == reflect.Pointer {
		return t.Elem(), true
	}
	return t, false
}

// hasOwnForm reports whether a type writes itself in a way that its Go fields do not show.
func hasOwnForm(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	if p.Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return true
	}
	return t.Kind() != reflect.Struct && p.Implements(reflect.TypeFor[message]())
}

// leafOf says how a single value of a type is written.
func leafOf(t reflect.Type) (leaf, bool) {
	switch t {
	case reflect.TypeFor[metav1.Time]():
		return timeLeaf, true
	case reflect.TypeFor[resource.Quantity]():
		return quantityLeaf, true
	case reflect.TypeFor[intstr.IntOrString]():
		return intOrStringLeaf, true
	}
	if hasOwnForm(t) {
		return 0, false
	}
	switch t.Kind() {
	case reflect.String:
		return stringLeaf, true
	case reflect.Bool:
		return boolLeaf, true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intLeaf, true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return uintLeaf, true
	}
	return 0, false
}

// zeroText is the text of the zero value.
func (l leaf) zeroText() string {
	switch l {
	case intLeaf, uintLeaf, quantityLeaf, intOrStringLeaf:
		return "0"
	case boolLeaf:
		return "false"
	}
	return ""
}
