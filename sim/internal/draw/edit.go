package draw

import (
	"maps"
	"slices"
	"strings"
)

// Edit is how an object differs from another one. A list that differs is set as a whole.
type Edit struct {
	// Set has the values of fields, by JSON pointer.
	Set map[string]any `json:"set,omitempty"`
	// Remove has the pointers of fields that are not there.
	Remove []string `json:"remove,omitempty"`
}

// Between returns what makes the object b of a.
func Between(a, b map[string]any) (e Edit) {
	e.between(a, b, nil)
	return e
}

func (e *Edit) between(a, b map[string]any, path []string) {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if _, ok := b[name]; !ok {
			e.Remove = append(e.Remove, Pointer(child(path, name)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		at := child(path, name)
		was, there := a[name]
		x, ok := was.(map[string]any)
		y, both := b[name].(map[string]any)
		switch {
		case ok && both:
			e.between(x, y, at)
		case !there || !same(was, b[name]):
			if e.Set == nil {
				e.Set = map[string]any{}
			}
			e.Set[Pointer(at)] = b[name]
		}
	}
}

// Apply returns an object with the edit. The object itself is not changed; nor are members of objects that it lacks.
func (e Edit) Apply(o map[string]any) map[string]any {
	for _, c := range e.Changes() {
		o = c.Apply(o)
	}
	return o
}

// Changes returns the changes of the edit.
func (e Edit) Changes() (out []Change) {
	for _, p := range e.Remove {
		out = append(out, Change{Path: pathOf(p), Remove: true})
	}
	for _, p := range slices.Sorted(maps.Keys(e.Set)) {
		out = append(out, Change{Path: pathOf(p), Value: e.Set[p]})
	}
	return out
}

// Smaller returns the edits with one change less.
func (e Edit) Smaller() (out []Edit) {
	for i := range e.Remove {
		out = append(out, Edit{Set: e.Set, Remove: slices.Delete(slices.Clone(e.Remove), i, i+1)})
	}
	for _, p := range slices.Sorted(maps.Keys(e.Set)) {
		less := maps.Clone(e.Set)
		delete(less, p)
		out = append(out, Edit{Set: less, Remove: e.Remove})
	}
	return out
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// pathOf reads a JSON pointer.
func pathOf(pointer string) []string {
	path := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := range path {
		path[i] = unescape.Replace(path[i])
	}
	return path
}
