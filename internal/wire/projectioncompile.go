package wire

import (
	"fmt"
	"reflect"
	"slices"
	"unicode"

	"github.com/flyball-io/flyball/internal/gofield"
)

// viewCompiler compiles one view.
type viewCompiler struct {
	p    *Projection
	kind reflect.Type // nil: unknown
	open []reflect.Type
}

func compileProjection(kind, view reflect.Type) (*Projection, error) {
	c, root := newViewCompiler(kind, view)
	if err := c.structure(view, 0, root, ""); err != nil {
		return nil, err
	}
	return c.p, nil
}

// newViewCompiler returns a compiler, and the place of the whole object.
func newViewCompiler(kind, view reflect.Type) (*viewCompiler, place) {
	c := &viewCompiler{p: &Projection{view: view, root: &viewNode{level: 1}, proto: HasProtobuf(kind)}, kind: kind}
	return c, place{node: c.p.root, api: kind}
}

// place is an object on the wire whose fields are compiled.
type place struct {
	node *viewNode
	api  reflect.Type // a struct, or a map; nil: unknown
	path string
}

// spot is a value on the wire.
type spot struct {
	member   *viewMember
	api      reflect.Type
	optional bool // it is the entry of a map, which may be missing
	zero     bool // as such an entry, a null is a zero value
	path     string
}

// wrong returns the error for a field of the view.
func (c *viewCompiler) wrong(field, path, format string, args ...any) error {
	return &ProjectionError{View: c.p.view, Kind: c.kind, Field: field, Path: path, Reason: fmt.Sprintf(format, args...)}
}

// structure compiles the fields of a struct. The object at a place is read into memory, in which the struct is at
// an offset.
func (c *viewCompiler) structure(t reflect.Type, offset uintptr, at place, name string) error {
	if slices.Contains(c.open, t) {
		return c.wrong(name, at.path, "%v contains itself", t)
	}
	c.open = append(c.open, t)
	defer func() { c.open = c.open[:len(c.open)-1] }()
	for f := range t.Fields() {
		inner := f.Name
		if name != "" {
			inner = name + "." + f.Name
		}
		if err := c.field(f, offset+f.Offset, at, inner); err != nil {
			return err
		}
	}
	return nil
}

func (c *viewCompiler) field(f reflect.StructField, offset uintptr, at place, name string) error {
	tag := gofield.TagOf(f.Tag)
	path, byPath := f.Tag.Lookup("field")
	switch {
	case tag.Omitted && !byPath:
		return nil
	case f.Anonymous && tag.Name == "" && !byPath && f.Type.Kind() == reflect.Struct && !hasOwnForm(f.Type):
		return c.structure(f.Type, offset, at, name)
	case f.Anonymous && tag.Name == "" && !byPath && f.Type.Kind() == reflect.Pointer:
		return c.wrong(name, at.path, "an embedded pointer is not supported")
	case !f.IsExported():
		return nil
	case tag.Quoted:
		return c.wrong(name, at.path, "the option string of a json tag is not supported")
	}
	segments := []segment{{name: tag.Name}}
	if tag.Name == "" {
		segments[0].name = jsonName(f.Name)
	}
	if byPath {
		var err error
		if segments, err = viewPath(path); err != nil {
			return c.wrong(name, path, "%v", err)
		}
	}
	for _, s := range segments[:len(segments)-1] {
		to, err := c.member(at, s, name)
		if err != nil {
			return err
		}
		if at, err = c.inside(to, name); err != nil {
			return err
		}
	}
	last := segments[len(segments)-1]
	if at.path == "" && (last.name == "apiVersion" || last.name == "kind") && f.Type.Kind() == reflect.String {
		c.p.kindFields = append(c.p.kindFields, kindField{offset, last.name == "kind"})
		return nil
	}
	to, err := c.member(at, last, name)
	if err != nil {
		return err
	}
	return c.place(f.Type, offset, to, name)
}

// place compiles the read of a spot into a type at an offset.
func (c *viewCompiler) place(t reflect.Type, offset uintptr, at spot, name string) error {
	if t.Kind() == reflect.Struct && !hasOwnForm(t) && !c.sameType(t, at.api) {
		in, err := c.inside(at, name)
		if err != nil {
			return err
		}
		return c.structure(t, offset, in, name)
	}
	v, err := c.value(t, at.api, at.optional, at.path, name)
	if err != nil {
		return err
	}
	c.target(at, t, offset, v)
	return nil
}

// target compiles the read of a spot into memory of a type at an offset.
func (c *viewCompiler) target(at spot, t reflect.Type, offset uintptr, v viewValue) {
	if !at.zero {
		v.null = nil
	}
	at.member.targets = append(at.member.targets, viewTarget{offset, t, v})
}

// sameType reports whether a type of a view is the type of the API.
func (c *viewCompiler) sameType(t, api reflect.Type) bool {
	if api == nil {
		return false
	}
	api, _ = deref(api)
	return t == api
}

// inside returns the place of the object at a spot.
func (c *viewCompiler) inside(at spot, name string) (place, error) {
	in := place{node: at.member.object(), api: at.api, path: at.path}
	if at.api == nil {
		return in, nil
	}
	in.api, _ = deref(at.api)
	switch {
	case hasOwnForm(in.api):
		return in, c.wrong(name, at.path, "%s is %v, which has a form of its own", at.path, in.api)
	case in.api.Kind() == reflect.Map:
		if in.api.Key().Kind() == reflect.String {
			return in, nil
		}
	case in.api.Kind() == reflect.Struct:
		return in, nil
	}
	return in, c.wrong(name, at.path, "%s is %v, which has no fields", at.path, at.api)
}

// member finds the member of an object.
func (c *viewCompiler) member(at place, s segment, name string) (spot, error) {
	to := spot{path: s.name}
	switch {
	case at.path != "" && s.access == byKey:
		to.path = at.path + "['" + s.name + "']"
	case at.path != "":
		to.path = at.path + "." + s.name
	}
	to.member = at.node.member(s.name, to.path)
	if at.api == nil {
		to.optional = true
		return to, nil
	}
	if at.api.Kind() == reflect.Map {
		to.api, to.optional = at.api.Elem(), true
		to.zero = to.api.Kind() != reflect.Pointer
		at.node.isMap = true
		return to, nil
	}
	if s.access == byKey {
		return to, c.wrong(name, to.path, "%s is %v, which is no map", at.path, at.api)
	}
	f, ok := findField(at.api, s.name)
	if !ok {
		return to, c.wrong(name, to.path, "%v has no field %s", c.kind, to.path)
	}
	to.api, to.optional = f.typ, f.pointer
	if !c.p.proto {
		return to, nil
	}
	if f.nums == nil {
		return to, c.wrong(name, to.path, "%s is not part of the protobuf form of %v", to.path, c.kind)
	}
	node := at.node
	for _, num := range f.nums[:len(f.nums)-1] {
		node = node.field(num, &viewMember{path: to.path}).object()
	}
	node.field(f.nums[len(f.nums)-1], to.member)
	return to, nil
}

// viewPath splits a path into steps of one name each.
func viewPath(path string) ([]segment, error) {
	segments, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	var steps []segment
	for _, s := range segments {
		if s.access == each {
			return nil, &PathError{Path: path, Segment: s.String(), Reason: "a view reads a list into a slice of structs"}
		}
		steps = append(steps, s.steps()...)
	}
	return steps, nil
}

// jsonName returns the JSON name of a field without a tag. Leading capitals become small, except the last of several
// if it begins a word.
func jsonName(name string) string {
	r := []rune(name)
	for i := range r {
		if !unicode.IsUpper(r[i]) || i > 0 && i+1 < len(r) && unicode.IsLower(r[i+1]) {
			break
		}
		r[i] = unicode.ToLower(r[i])
	}
	return string(r)
}
