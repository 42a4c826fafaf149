package decode

import (
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/gofield"
)

// outline is the structure of a type in one encoding: the fields of a message, and where it has
// other messages. A nil outline marks a value that is taken as a whole.
type outline struct {
	kind   partKind
	fields []outlineField // of a message
	names  map[string]int // JSON: the fields
	places map[int]int    // protobuf: the fields by number
	elem   *outline       // of a list, of a map
	tag    string         // of a list: the patchMergeKey of its field
	entry  bool           // protobuf: a message that is the entry of a map
}

type outlineField struct {
	name  string // the JSON name, for errors
	sub   *outline
	union bool // a member of a union: at most one of several is set; see isUnion
}

type partKind uint8

const (
	partMessage partKind = iota
	partList
	partMap
)

// opaque are types that are taken as a whole: scalars of the API, and metadata that only the server
// maintains.
var opaque = map[reflect.Type]bool{
	reflect.TypeFor[metav1.Time]():               true,
	reflect.TypeFor[metav1.MicroTime]():          true,
	reflect.TypeFor[resource.Quantity]():         true,
	reflect.TypeFor[metav1.ManagedFieldsEntry](): true,
}

// outlineJSON makes the outline of a type as encoding/json sees it. A type may contain itself.
func outlineJSON(open map[reflect.Type]*outline, t reflect.Type) *outline {
	if t.Kind() == reflect.Pointer {
		return outlineJSON(open, t.Elem())
	}
	if opaque[t] || reflect.PointerTo(t).Implements(unmarshaler) || reflect.PointerTo(t).Implements(textUnmarshaler) {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		if elem := outlineJSON(open, t.Elem()); elem != nil {
			return &outline{kind: partList, elem: elem}
		}
	case reflect.Map:
		if elem := outlineJSON(open, t.Elem()); elem != nil {
			return &outline{kind: partMap, elem: elem}
		}
	case reflect.Struct:
		if o := open[t]; o != nil {
			return o
		}
		o := &outline{names: map[string]int{}}
		open[t] = o
		o.jsonFields(open, t)
		return o
	}
	return nil
}

func (o *outline) jsonFields(open map[reflect.Type]*outline, t reflect.Type) {
	for _, f := range gofield.Of(t) {
		o.names[f.Name] = len(o.fields)
		o.fields = append(o.fields, outlineField{f.Name, withKey(outlineJSON(open, f.Go.Type), f.Go), isUnion(f.Owner)})
	}
}

// isUnion reports whether a type looks like a union: two or more fields, all of them optional
// pointers to structs, as in VolumeSource, EnvVarSource or a handler. No marker identifies unions.
func isUnion(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || t.NumField() < 2 {
		return false
	}
	for f := range t.Fields() {
		tag := gofield.TagOf(f.Tag)
		if !tag.OmitEmpty && !tag.OmitZero || f.Type.Kind() != reflect.Pointer || f.Type.Elem().Kind() != reflect.Struct {
			return false
		}
	}
	return true
}

// withKey returns the outline of a list with the key from the tag of its field.
func withKey(sub *outline, f reflect.StructField) *outline {
	tag := f.Tag.Get("patchMergeKey")
	if sub == nil || sub.kind != partList || tag == "" {
		return sub
	}
	list := *sub
	list.tag = tag
	return &list
}

// key returns the key field of a list's elements, -1 if there is none: the one that the tag names,
// or else by convention name, or type, as in conditions.
func (o *outline) key() int {
	if o.elem.kind == partMessage {
		for _, name := range []string{o.tag, "name", "type"} {
			for i, f := range o.elem.fields {
				if f.name == name && f.sub == nil {
					return i
				}
			}
		}
	}
	return -1
}

// outlineProto makes the outline of a type by its protobuf tags.
func outlineProto(open map[reflect.Type]*outline, t reflect.Type) *outline {
	if o := open[t]; o != nil || opaque[t] {
		return o
	}
	o := &outline{places: map[int]int{}}
	if t.Kind() == reflect.Slice { // a message whose only field is the list
		o.add(1, "items", nil)
		return o
	}
	open[t] = o
	for f := range t.Fields() {
		n := gofield.Number(f.Tag)
		if n == 0 {
			continue
		}
		o.add(n, protoName(f, n), withKey(fieldProto(open, f.Type), f))
	}
	for i := range o.fields {
		o.fields[i].union = isUnion(t)
	}
	if len(o.fields) == 0 {
		open[t] = nil // it decodes itself
		return nil
	}
	return o
}

func (o *outline) add(number int, name string, sub *outline) {
	o.places[number] = len(o.fields)
	o.fields = append(o.fields, outlineField{name: name, sub: sub})
}

func fieldProto(open map[reflect.Type]*outline, t reflect.Type) *outline {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct:
		return outlineProto(open, t)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			if elem := outlineProto(open, t.Elem()); elem != nil {
				return &outline{kind: partList, elem: elem}
			}
		}
		if reflect.PointerTo(t).Implements(stockType) {
			return outlineProto(open, t)
		}
	case reflect.Map:
		e := t.Elem()
		entry := &outline{places: map[int]int{}, entry: true}
		entry.add(1, "key", nil)
		var value *outline
		if e.Kind() == reflect.Struct || e.Kind() == reflect.Slice && e != bytesType && reflect.PointerTo(e).Implements(stockType) {
			value = outlineProto(open, e)
		}
		entry.add(2, "value", value)
		return &outline{kind: partMap, elem: entry}
	}
	return nil
}

// protoName returns the readable name of a field.
func protoName(f reflect.StructField, n int) string {
	if name := gofield.TagOf(f.Tag).Name; name != "" {
		return name
	}
	for part := range strings.SplitSeq(f.Tag.Get("protobuf"), ",") {
		if s, ok := strings.CutPrefix(part, "name="); ok {
			return s
		}
	}
	return strconv.Itoa(n)
}
