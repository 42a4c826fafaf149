package wire

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flyball-io/flyball/internal/protoscan"
)

// OwnerUIDs is the path of the uids of all owners: the name of the index that informers make by themselves.
const OwnerUIDs = "metadata.ownerReferences[*].uid"

// ErrNoOwners is the cause of the error of a list by OwnerUIDs that would go to a server.
var ErrNoOwners = errors.New("the API server has no selector of owners: only a cache can answer it")

// Path is a compiled field path. It reads the values of one field, also within lists, and returns them as text.
// It is read-only, and safe for concurrent use.
type Path struct {
	text     string
	segments []segment
	view     *Projection
	readers  sync.Pool // of *pathReader
}

// pathReader is the state of one read of a path. value is an empty value of its view.
type pathReader struct {
	viewReader
	value reflect.Value
}

// CompilePath compiles a field path of a kind:
//
//	spec.nodeName
//	metadata.labels[app]
//	metadata.labels['app.kubernetes.io/name']
//	spec.containers[*].image
//
// Names are JSON names. Brackets hold the key of a map, quoted or not, or * for every element of a list. The
// value is a string, a whole number, a boolean, a metav1.Time, a
// resource.Quantity or an intstr.IntOrString.
//
// t is the Go type of the kind, see [Kind.GoType]. The path must fit it. The error is a *[PathError] that names
// the segment. If t is nil, every path that parses is accepted, and only JSON can be read.
func CompilePath(t reflect.Type, path string) (*Path, error) {
	segments, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	optional, err := checkPath(t, path, segments)
	if err != nil {
		return nil, err
	}
	c, root := newViewCompiler(t, nil)
	view, err := c.hop(root, segments, optional)
	if err != nil {
		return nil, &PathError{Path: path, Reason: err.Error()}
	}
	p := &Path{text: path, segments: segments, view: c.p}
	p.readers.New = func() any {
		return &pathReader{viewReader{lend: true}, reflect.New(view).Elem()}
	}
	return p, nil
}

// checkPath checks a path against the Go type of a kind. It returns for each segment whether its value,
// that of its key or an element of its list may be missing. Without a Go type only the last one counts.
func checkPath(t reflect.Type, path string, segments []segment) (optional []bool, err error) {
	proto := HasProtobuf(t)
	for i, s := range segments {
		if t == nil {
			optional = append(optional, i == len(segments)-1)
			continue
		}
		f, pointer, reason := descend(t, s)
		t = f.typ
		switch {
		case reason != "":
		case proto && f.nums == nil:
			reason = "it is not part of the protobuf form"
		case i == len(segments)-1 && !isSingle(t):
			reason = fmt.Sprintf("%v is no single value", t)
		}
		if reason != "" {
			return nil, &PathError{Path: path, Segment: s.String(), Reason: reason}
		}
		optional = append(optional, pointer || s.access == byKey)
	}
	return optional, nil
}

// descend takes one step from a struct type. The type of the returned field is the start of the next step;
// pointer reports whether it may be nil. reason is not empty if the step is impossible.
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

// isSingle reports whether values of a type are single values to a path.
func isSingle(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[resource.Quantity](), reflect.TypeFor[intstr.IntOrString]():
		return true
	}
	return !hasOwnForm(t) && (t.Kind() == reflect.String || t.Kind() == reflect.Bool || isInt(t) || isUint(t))
}

// anyText is the text of a string, number or boolean, where there is no Go type.
type anyText string

// hop compiles some segments from an object on. It returns the type of the memory that their value is
// read into.
func (c *viewCompiler) hop(at place, segments []segment, optional []bool) (reflect.Type, error) {
	s := segments[0]
	var to spot
	var err error
	for i, name := range s.steps() {
		if i > 0 {
			at, err = c.inside(to, "")
		}
		if err == nil {
			to, err = c.member(at, name, "")
		}
		if err != nil {
			return nil, err
		}
	}
	if rest := segments[1:]; len(rest) > 0 && s.access != each && !optional[0] && !(rest[0].bare && rest[0].access == each) {
		if at, err = c.inside(to, ""); err != nil {
			return nil, err
		}
		return c.hop(at, rest, optional[1:])
	}
	t, v, err := c.hopValue(to.api, to.path, segments, optional)
	if err == nil {
		c.target(to, t, 0, v)
	}
	return t, err
}

// hopValue compiles the value of the first of some segments.
func (c *viewCompiler) hopValue(api reflect.Type, path string, segments []segment, optional []bool) (t reflect.Type, v viewValue, err error) {
	if api != nil {
		api, _ = deref(api)
	}
	list := segments[0].access == each
	if list && api != nil {
		api, _ = deref(api.Elem())
	}
	switch rest := segments[1:]; {
	case len(rest) > 0 && rest[0].bare && rest[0].access == each:
		t, v, err = c.hopValue(api, path, rest, optional[1:])
	case len(rest) > 0:
		var at place
		at, v = c.region(api, path)
		t, err = c.hop(at, rest, optional[1:])
	case api != nil:
		t = api
		v, err = c.value(t, api, true, path, "")
	default:
		t, v = reflect.TypeFor[anyText](), viewValue{json: jsonAnyText}
	}
	if err != nil {
		return nil, v, err
	}
	if optional[0] {
		t, v = optionalValue(t, v)
	}
	if list {
		t = reflect.SliceOf(t)
		v = listValue(t, v)
	}
	return t, v, nil
}

// optionalValue reads into a struct of a value and whether there is one.
func optionalValue(t reflect.Type, elem viewValue) (reflect.Type, viewValue) {
	t = reflect.StructOf([]reflect.StructField{{Name: "Value", Type: t}, {Name: "Is", Type: reflect.TypeFor[bool]()}})
	is := t.Field(1).Offset
	v := viewValue{
		null: func(p unsafe.Pointer) { *(*bool)(unsafe.Add(p, is)) = true },
		json: func(d *viewReader, p unsafe.Pointer) error {
			*(*bool)(unsafe.Add(p, is)) = true
			return elem.json(d, p)
		},
	}
	if elem.proto != nil {
		v.proto = func(d *viewReader, f protoscan.Cursor, p unsafe.Pointer) error {
			*(*bool)(unsafe.Add(p, is)) = true
			return elem.proto(d, f, p)
		}
	}
	return t, v
}

// isOptional reports whether v is of a type that optionalValue made. No other struct of two fields is
// in the view of a path.
func isOptional(v reflect.Value) bool { return v.Kind() == reflect.Struct && v.NumField() == 2 }

// empty makes v the zero value, but for the room of its lists.
func empty(v reflect.Value) {
	switch {
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			empty(v.Index(i))
		}
		v.SetLen(0)
	case isOptional(v):
		empty(v.Field(0))
		v.Field(1).SetBool(false)
	default:
		v.SetZero()
	}
}

// jsonAnyText reads a string, number or boolean as its text.
func jsonAnyText(d *viewReader, p unsafe.Pointer) error {
	switch d.Peek() {
	case '"':
		return jsonString(d, p)
	case '{', '[':
		return d.Want("a single value")
	}
	*(*string)(p) = d.keep(d.Literal())
	return nil
}

// String returns the text of the path.
func (p *Path) String() string { return p.text }

// Member returns the JSON name of the i-th member on the path, such as "metadata" and "labels". It is empty if the path
// is shorter, or has the key of a map before.
func (p *Path) Member(i int) string {
	for at, s := range p.segments {
		if at == i {
			return s.name
		}
		if s.access == byKey {
			break
		}
	}
	return ""
}

// Values returns the values at the path, in the order of the object. They equal those of the decoded Go object. A
// missing field that is not a pointer has its zero value ("", "0", "false"). A nil pointer, an empty list and a
// missing key have no value. A time is written as RFC 3339 in UTC, and has no value if it is zero. Without a Go
// type, a missing field and a null have no value, and numbers keep their text.
//
// A value of another type than the path expects is a *[DecodeError].
func (p *Path) Values(r Raw) ([]string, error) {
	var err error
	if r.Encoding == JSON {
		r, err = r.check()
	}
	d := p.readers.Get().(*pathReader)
	if err == nil {
		err = p.view.fill(r, &d.viewReader, d.value.Addr().UnsafePointer())
	}
	var out []string
	if err == nil {
		out, err = appendTexts(nil, d.value)
	}
	empty(d.value)
	p.readers.Put(d)
	if err != nil {
		if at, ok := err.(*fieldError); ok {
			err = at.err
		}
		return nil, r.failed(p.text, err)
	}
	return out, nil
}

// appendTexts appends the texts of the single values in v. They share nothing with v.
func appendTexts(out []string, v reflect.Value) ([]string, error) {
	var text string
	switch v.Kind() {
	case reflect.Slice:
		var err error
		for i := 0; i < v.Len() && err == nil; i++ {
			out, err = appendTexts(out, v.Index(i))
		}
		return out, err
	case reflect.String:
		text = strings.Clone(v.String())
	case reflect.Bool:
		text = strconv.FormatBool(v.Bool())
	case reflect.Struct:
		if isOptional(v) {
			if v.Field(1).Bool() {
				return appendTexts(out, v.Field(0))
			}
			return out, nil
		}
		switch x := v.Addr().Interface().(type) {
		case *metav1.Time:
			if x.IsZero() {
				return out, nil
			}
			text = x.UTC().Format(time.RFC3339)
		case *resource.Quantity:
			text = x.String()
		case *intstr.IntOrString:
			text = strings.Clone(x.String())
		}
	default:
		if v.CanInt() {
			text = strconv.FormatInt(v.Int(), 10)
		} else {
			text = strconv.FormatUint(v.Uint(), 10)
		}
	}
	if !utf8.ValidString(text) {
		return nil, errUTF8
	}
	return append(out, text), nil
}
