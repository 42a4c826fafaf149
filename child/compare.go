package child

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// compare names a field of want that live does not have as wanted, or, where owned says which
// fields of live are ours, one that want does not set any more; empty: there is none. owned is the
// JSON form of managedFields; nil: not known.
func compare(want, live map[string]any, owned map[string]any) string {
	how := loose
	if owned != nil {
		how = managed
	}
	return differ{how, owned}.value("", want, live)
}

// differ compares one value and what is below it.
type differ struct {
	how   how
	owned map[string]any // of how managed
}

type how uint8

const (
	// managed: owned tells what is ours.
	managed how = iota
	// atomic: all of it is ours.
	atomic
	// loose: nothing is known of who owns it.
	loose
)

// below is how a child of the set of owned fields is compared; ok is false if we do not own it.
func (d differ) below(element string) (differ, bool) {
	if d.how != managed {
		return d, true
	}
	owned, ok := d.owned[element].(map[string]any)
	return differ{managed, owned}, ok
}

// leaf reports that nothing below this field is owned by itself: all of it is ours.
func (d differ) leaf() bool {
	for k := range d.owned {
		if k != "." {
			return false
		}
	}
	return d.how == managed
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
		d.how = atomic
	}
	for k, w := range want {
		at := join(path, k)
		if z, ok := w.(unkept); ok {
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
	if d.how != managed {
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
	case len(want) == 0 && d.how == managed && d.leaf():
		return "" // what else is in it belongs to others
	case len(want) == 0 && d.how == loose:
		if len(live) > 0 && !isMap(live[0]) {
			return path
		}
		return ""
	case d.leaf():
		d.how = atomic
		fallthrough
	case d.how == atomic:
		if len(want) != len(live) {
			return path
		}
		for i, w := range want {
			if field := d.value(at(path, i), w, live[i]); field != "" {
				return field
			}
		}
		return ""
	case d.how == loose:
		return d.within(path, want, live)
	}
	return d.merged(path, want, live)
}

// within looks for the elements of want in those of live, in this order, with others between them
// unless they are plain values.
func (d differ) within(path string, want, live []any) string {
	if !isMap(want[0]) && len(want) != len(live) {
		return path
	}
	next := 0
	for i, w := range want {
		found := slices.IndexFunc(live[next:], func(l any) bool { return d.value("", w, l) == "" })
		if found < 0 {
			return at(path, i)
		}
		next += found + 1
	}
	return ""
}

// merged compares a list whose elements are owned one by one: "k:" and the fields that make up the
// key, or "v:" and the value.
func (d differ) merged(path string, want, live []any) string {
	mine := d.elements(want)
	next := 0
	for i, w := range want {
		path := at(path, i)
		if mine[i].name == "" {
			return path
		}
		found := slices.IndexFunc(live[next:], func(l any) bool { return matches(l, mine[i].key, false) })
		if found < 0 {
			return path
		}
		if sub, _ := d.below(mine[i].name); mine[i].fields() {
			if field := sub.value(path, w, live[next+found]); field != "" {
				return field
			}
		}
		next += found + 1
	}
	for name := range d.owned {
		if name != "." && !slices.ContainsFunc(mine, func(e element) bool { return e.name == name }) {
			return path + "[" + name + "]"
		}
	}
	return ""
}

// element is one of a list, as managedFields names it: its key are fields, or it is a plain value.
type element struct {
	name string
	key  any
}

func (e element) fields() bool { _, ok := e.key.(map[string]any); return ok }

// elements finds what we own of the list for each element of want; nothing where we own none. An
// element that gives only part of its key, the rest of which the server fills in, gets what those
// that give all of it leave over.
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

// matches reports whether v is the element of the key: a plain value, or a map of the fields that
// make it up. Where defaulted is true, v may lack fields that the server fills in.
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
		if z, ok := y.(unkept); ok {
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

// same compares plain values; numbers by their value.
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
