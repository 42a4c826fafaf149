package child

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// compare returns the path of a difference between want and live, or "". A difference is a field of want
// with another value in live, or a field that we own and that want does not set. owned is the JSON form
// of our managedFields; nil if they are unknown.
//
// applied says that want is what our last apply has set. Nobody has changed since what we own, so that other elements
// of an atomic list are those that the server has added to the apply itself, such as the tolerations of a Pod.
func compare(want, live map[string]any, owned map[string]any, applied bool) string {
	ownership := loose
	if owned != nil {
		ownership = managed
	}
	return differ{ownership, owned, applied}.value("", want, live)
}

// differ compares one value and all values below it.
type differ struct {
	ownership ownership
	owned     map[string]any // if the ownership is managed
	applied   bool           // see compare
}

// ownership says which of the fields of a value are ours.
type ownership uint8

const (
	// managed: owned has the fields that are ours.
	managed ownership = iota
	// atomic: the whole value is ours.
	atomic
	// loose: the owners are unknown.
	loose
)

// below returns the differ for an element of the set of owned fields. ok is false if we do not own it.
func (d differ) below(element string) (differ, bool) {
	if d.ownership != managed {
		return d, true
	}
	owned, ok := d.owned[element].(map[string]any)
	return differ{managed, owned, d.applied}, ok
}

// leaf reports whether no field below is owned by itself, so that the whole value is ours.
func (d differ) leaf() bool {
	for k := range d.owned {
		if k != "." {
			return false
		}
	}
	return d.ownership == managed
}

func (d differ) value(path string, want, live any) string {
	switch want := want.(type) {
	case map[string]any:
		live, ok := live.(map[string]any)
		if !ok {
			return path
		}
		return d.object(path, want, live)
	case []any:
		live, ok := live.([]any)
		if !ok && len(want) > 0 {
			return path
		}
		return d.list(path, want, live)
	}
	if same(want, live) {
		return ""
	}
	return path
}

func (d differ) object(path string, want, live map[string]any) string {
	if d.leaf() && (path != "" || len(want) == 0) {
		d.ownership = atomic
	}
	for k, w := range want {
		at := join(path, k)
		if z, ok := w.(droppedZero); ok {
			if live[k] == nil {
				continue
			}
			w = z.value
		}
		sub, ok := d.below("f:" + k)
		if !ok {
			return at
		}
		if field := sub.value(at, w, live[k]); field != "" {
			return field
		}
	}
	if d.ownership != managed {
		return ""
	}
	for element := range d.owned {
		if k, ok := strings.CutPrefix(element, "f:"); ok {
			if _, still := want[k]; !still {
				return join(path, k)
			}
		}
	}
	return ""
}

func (d differ) list(path string, want, live []any) string {
	switch {
	case len(want) == 0 && d.ownership == managed && d.leaf():
		return "" // other elements belong to others
	case len(want) == 0 && d.ownership == loose:
		if len(live) > 0 && !isMap(live[0]) {
			return path
		}
		return ""
	case d.leaf() && d.applied && len(live) > len(want):
		d.ownership = loose
		return d.within(path, want, live)
	case d.leaf():
		d.ownership = atomic
		fallthrough
	case d.ownership == atomic:
		if len(want) != len(live) {
			return path
		}
		for i, w := range want {
			if field := d.value(at(path, i), w, live[i]); field != "" {
				return field
			}
		}
		return ""
	case d.ownership == loose:
		return d.within(path, want, live)
	}
	return d.merged(path, want, live)
}

// within compares lists whose owners are unknown. live must have the elements of want in their order. It
// may have others between them, unless the elements are plain values.
func (d differ) within(path string, want, live []any) string {
	if !isMap(want[0]) && len(want) != len(live) {
		return path
	}
	next := 0
	for i, w := range want {
		path := at(path, i) // never empty, so that a plain value differs in a path that says so
		found := slices.IndexFunc(live[next:], func(l any) bool { return d.value(path, w, l) == "" })
		if found < 0 {
			return path
		}
		next += found + 1
	}
	return ""
}

// merged compares lists whose elements are owned one by one. managedFields name an element by "k:" and
// its key fields, or by "v:" and its value.
func (d differ) merged(path string, want, live []any) string {
	owned := d.elements(want)
	next := 0
	for i, w := range want {
		path := at(path, i)
		if owned[i].name == "" {
			return path
		}
		found := slices.IndexFunc(live[next:], func(l any) bool { return matches(l, owned[i].key, false) })
		if found < 0 {
			return path
		}
		if sub, _ := d.below(owned[i].name); owned[i].fields() {
			if field := sub.value(path, w, live[next+found]); field != "" {
				return field
			}
		}
		next += found + 1
	}
	for name := range d.owned {
		if name != "." && !slices.ContainsFunc(owned, func(e element) bool { return e.name == name }) {
			return path + "[" + name + "]"
		}
	}
	return ""
}

// element is an element of a list as managedFields name it. Its key is a map of fields, or a plain value.
type element struct {
	name string
	key  any
}

func (e element) fields() bool { _, ok := e.key.(map[string]any); return ok }

// elements returns the owned element for each element of want, or an empty one. It first matches the
// elements of want that have all their key fields. Those with part of a key, which the server completes,
// get the owned elements that remain.
func (d differ) elements(want []any) []element {
	var left []element
	for name := range d.owned {
		kind, text, _ := strings.Cut(name, ":")
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		var key any
		if (kind == "k" || kind == "v") && dec.Decode(&key) == nil {
			left = append(left, element{name, key})
		}
	}
	slices.SortFunc(left, func(a, b element) int { return strings.Compare(a.name, b.name) })
	out := make([]element, len(want))
	for _, defaulted := range []bool{false, true} {
		for i, w := range want {
			if out[i].name != "" {
				continue
			}
			at := slices.IndexFunc(left, func(e element) bool { return matches(w, e.key, defaulted) })
			if at >= 0 {
				out[i] = left[at]
				left = slices.Delete(left, at, at+1)
			}
		}
	}
	return out
}

// matches reports whether v has the key: it equals a plain value, or has the key fields of a map. If
// defaulted is true, v may lack key fields that the server fills in.
func matches(v, key any, defaulted bool) bool {
	fields, ok := key.(map[string]any)
	if !ok {
		return same(v, key)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	set := false
	for k, x := range fields {
		y, has := m[k]
		if z, ok := y.(droppedZero); ok {
			y = z.value
		}
		switch {
		case has && !same(x, y), !has && !defaulted:
			return false
		}
		set = set || has
	}
	return set
}

// same reports whether two plain values are equal. It compares numbers by value.
func same(a, b any) bool {
	x, ok1 := a.(json.Number)
	y, ok2 := b.(json.Number)
	if ok1 && ok2 && x != y {
		f, err1 := strconv.ParseFloat(string(x), 64)
		g, err2 := strconv.ParseFloat(string(y), 64)
		return err1 == nil && err2 == nil && f == g && strings.ContainsAny(string(x+y), ".eE")
	}
	switch a.(type) {
	case map[string]any, []any:
		return false
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

func isMap(v any) bool { _, ok := v.(map[string]any); return ok }

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

func at(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
