package draw

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Change is one change of an object.
type Change struct {
	// Path has the members and elements down to the field.
	Path []string
	// Value is the new one. Remove says that there is none.
	Value  any
	Remove bool
}

// String returns the change as a text: a pointer, and the value.
func (c Change) String() string {
	if c.Remove {
		return "-" + Pointer(c.Path)
	}
	b, err := json.Marshal(c.Value)
	if err != nil {
		return err.Error()
	}
	return Pointer(c.Path) + "=" + string(b)
}

// Apply returns the object with the change. The object itself is not changed; nor is a path that it does not have.
func (c Change) Apply(o map[string]any) map[string]any {
	out, _ := c.in(o, c.Path).(map[string]any)
	return out
}

func (c Change) in(v any, path []string) any {
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		switch {
		case len(path) == 0:
			return c.Value
		case len(path) > 1:
			if _, ok := v[path[0]]; ok {
				out[path[0]] = c.in(v[path[0]], path[1:])
			}
		case c.Remove:
			delete(out, path[0])
		default:
			out[path[0]] = c.Value
		}
		return out
	case []any:
		if len(path) == 0 {
			return c.Value
		}
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 || i >= len(v) {
			return v
		}
		if c.Remove && len(path) == 1 {
			return slices.Delete(slices.Clone(v), i, i+1)
		}
		out := slices.Clone(v)
		out[i] = c.in(v[i], path[1:])
		return out
	}
	if len(path) == 0 {
		return c.Value
	}
	return v
}

// Changes returns every single change of an object that a schema has, but for its status and what each object has.
func Changes(s *Schema, o map[string]any) (out []Change) {
	return members(s, o, nil, func(name string) bool {
		return slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, name)
	})
}

// of returns the changes of a value at a path.
func of(s *Schema, v any, path []string) (out []Change) {
	set := func(x any) {
		if !same(x, v) && s.allows(x) && !slices.ContainsFunc(out, func(c Change) bool { return same(c.Value, x) }) {
			out = append(out, Change{Path: path, Value: x})
		}
	}
	if len(s.Enum) > 0 {
		for _, x := range s.Enum {
			set(x)
		}
		return out
	}
	if s.Nullable {
		set(nil)
	}
	switch v := v.(type) {
	case map[string]any:
		if s.values() != nil {
			set(map[string]any{})
		}
		return append(out, members(s, v, path, func(name string) bool {
			return s.Embedded && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name)
		})...)
	case []any:
		if s.Items == nil {
			return out
		}
		for _, x := range lists(s, v) {
			set(x)
		}
		for i := range v {
			if i < maxElements || i == len(v)-1 {
				out = append(out, of(s.Items, v[i], child(path, strconv.Itoa(i)))...)
			}
		}
		return out
	case float64:
		set(v + 1)
		set(v - 1)
	case string:
		set(v + "x")
	}
	for _, x := range valuesOf(s, len(path)) {
		set(x)
	}
	return out
}

// maxElements bounds the elements of a list that are changed.
const maxElements = 3

// lists returns other lists: shorter ones, longer ones, and in another order.
func lists(s *Schema, v []any) (out []any) {
	out = append(out, []any{})
	for i := range v {
		if i < maxElements || i == len(v)-1 {
			out = append(out, slices.Delete(slices.Clone(v), i, i+1))
		}
	}
	each := valuesOf(s.Items, 1)
	for _, x := range each {
		out = append(out, append(slices.Clone(v), x))
	}
	if len(v) > 0 {
		reversed := slices.Clone(v)
		slices.Reverse(reversed)
		out = append(out, reversed, append(slices.Clone(v), v[0]))
	}
	if len(each) > 0 {
		out = append(out, slices.Repeat(each[:1], max(1, len(v))))
	}
	for _, n := range []*int{s.MinItems, s.MaxItems} {
		if n == nil || *n > maxList || len(each) == 0 {
			continue
		}
		sized := slices.Clone(v[:min(len(v), *n)])
		for i := 0; len(sized) < *n; i++ {
			sized = append(sized, each[i%len(each)])
		}
		out = append(out, sized)
	}
	return out
}

// members returns the changes of the members of an object or a map.
func members(s *Schema, o map[string]any, path []string, skip func(string) bool) (out []Change) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if skip(name) {
			continue
		}
		p, at := s.Properties[name], child(path, name)
		v, there := o[name]
		if !there {
			for _, x := range valuesOf(p, len(at)-1) {
				out = append(out, Change{Path: at, Value: x})
			}
			continue
		}
		if !slices.Contains(s.Required, name) {
			out = append(out, Change{Path: at, Remove: true})
		}
		out = append(out, of(p, v, at)...)
	}
	m := s.values()
	if m == nil {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if s.Properties[name] == nil && !skip(name) {
			out = append(out, Change{Path: child(path, name), Remove: true})
			out = append(out, of(m, o[name], child(path, name))...)
		}
	}
	for _, key := range keys {
		if _, there := o[key]; there {
			continue
		}
		for _, x := range valuesOf(m, len(path)+1) {
			out = append(out, Change{Path: child(path, key), Value: x})
		}
	}
	return out
}

func child(path []string, name string) []string { return append(slices.Clone(path), name) }

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer returns a path as a JSON pointer.
func Pointer(path []string) string {
	var b strings.Builder
	for _, p := range path {
		b.WriteString("/" + escape.Replace(p))
	}
	return b.String()
}
