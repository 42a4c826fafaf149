package webhook

import (
	"slices"
	"strconv"
	"strings"

	"github.com/flyball-io/flyball/webhook/internal/review"
)

// differ makes JSON patches.
//
//	raw ──decode──► T ──encode──► before ──┐
//	                │  Default             ├── merge ──► the wanted document ── change ──► patch of raw
//	                ▼                      │
//	                T ──encode──► after ───┘
//
// before and raw differ in three ways: raw has fields that T does not know, encoding adds fields to
// before, and some values are written differently. The patch contains none of these differences. It
// contains only the differences between before and after.
type differ struct {
	*tree
	patch []byte
}

// diff returns the JSON patch that makes the change from before to after in raw. It returns nil if
// nothing changed. All three must be JSON documents.
func diff(before, raw, after []byte) ([]byte, error) {
	d := differ{tree: trees.Get().(*tree)}
	defer d.free()
	var docs [3]int32
	for i, text := range [][]byte{before, raw, after} {
		var err error
		if docs[i], err = d.document(text); err != nil {
			return nil, err
		}
	}
	d.change("", docs[1], d.merge(docs[0], docs[1], docs[2]))
	if len(d.patch) == 0 {
		return nil, nil
	}
	return append(d.patch, ']'), nil
}

// merge returns what raw becomes when before changes to after. before and raw may be none.
func (d *differ) merge(before, raw, after int32) int32 {
	switch {
	case raw != none && d.equal(before, after):
		return raw
	case d.is(after, '{') && (before == none || d.is(before, '{')) && (d.is(raw, '{') || before != none && (raw == none || d.is(raw, 'n'))):
		return d.mergeObject(before, raw, after)
	case d.is(after, '[') && d.is(before, '[') && d.is(raw, '[') && d.nodes[before].count == d.nodes[raw].count:
		out := d.add(none, node{kind: '['})
		old, olds, now := d.elements(before), d.elements(raw), d.elements(after)
		from, _ := d.match(old, now)
		for i, f := range from {
			if f >= 0 {
				now[i] = d.merge(old[f], olds[f], now[i])
			}
			d.put(out, nil, now[i])
		}
		return out
	}
	return after
}

func (d *differ) mergeObject(before, raw, after int32) int32 {
	out := d.add(none, node{kind: '{'})
	for name, r := range d.members(raw) {
		b, a := d.member(before, name), d.member(after, name)
		if a != none {
			d.put(out, name, d.merge(b, r, a))
		} else if b == none {
			d.put(out, name, r) // T does not know it
		}
	}
	for name, a := range d.members(after) {
		b := d.member(before, name)
		if d.member(raw, name) != none || d.equal(b, a) { // encoding alone added it
			continue
		}
		if m := d.merge(b, none, a); !d.is(m, '{') || d.nodes[m].count > 0 || d.nodes[a].count == 0 {
			d.put(out, name, m)
		}
	}
	return out
}

// change writes the operations that make a value the wanted one.
func (d *differ) change(path string, is, want int32) {
	switch {
	case d.equal(is, want):
	case d.is(is, '{') && d.is(want, '{'):
		for name := range d.members(is) {
			if d.member(want, name) == none {
				d.op("remove", join(path, name), none)
			}
		}
		for name, w := range d.members(want) {
			if m := d.member(is, name); m == none {
				d.op("add", join(path, name), w)
			} else if !d.equal(m, w) {
				d.change(join(path, name), m, w)
			}
		}
	case d.is(is, '[') && d.is(want, '['):
		d.array(path, is, want)
	default:
		d.op("replace", path, want)
	}
}

func (d *differ) array(path string, is, want int32) {
	old, now := d.elements(is), d.elements(want)
	from, inOrder := d.match(old, now)
	if !inOrder {
		d.op("replace", path, want)
		return
	}
	kept := make([]bool, len(old))
	inPlace := len(old) == len(now)
	for i, f := range from {
		if f >= 0 {
			kept[f] = true
			inPlace = inPlace && f == i
		}
	}
	if !inPlace {
		for i := len(kept) - 1; i >= 0; i-- {
			if !kept[i] {
				d.op("remove", path+"/"+strconv.Itoa(i), none)
			}
		}
	}
	for i, f := range from {
		if f >= 0 && d.equal(old[f], now[i]) {
			continue
		}
		switch at := path + "/" + strconv.Itoa(i); {
		case f >= 0:
			d.change(at, old[f], now[i])
		case inPlace:
			d.op("replace", at, now[i])
		default:
			d.op("add", at, now[i])
		}
	}
}

var pointer = strings.NewReplacer("~", "~0", "/", "~1")

func join(path string, name []byte) string { return path + "/" + pointer.Replace(string(name)) }

func (d *differ) op(name, path string, value int32) {
	d.patch = append(d.patch, ',')
	if len(d.patch) == 1 {
		d.patch[0] = '['
	}
	d.patch = append(d.patch, `{"op":"`...)
	d.patch = append(d.patch, name...)
	d.patch = append(d.patch, `","path":`...)
	d.patch = review.AppendString(d.patch, path)
	if value != none {
		d.patch = d.append(append(d.patch, `,"value":`...), value)
	}
	d.patch = append(d.patch, '}')
}

// identities are the members that identify an element of a list, most specific first. They decide
// only which old element a new element continues. An element's unknown fields then stay with it.
var identities = [][]byte{[]byte("name"), []byte("key"), []byte("uid"), []byte("id"), []byte("type"), []byte("mountPath"), []byte("containerPort"), []byte("port"), []byte("ip")}

func (d *differ) identity(n int32) string {
	for _, name := range identities {
		if m := d.member(n, name); d.is(m, '"') || d.is(m, 0) {
			return string(name) + "=" + string(d.nodes[m].text)
		}
	}
	return ""
}

// match returns, for each new element, the index of the old element that it continues, or -1.
// inOrder reports whether these are in their old order.
func (d *differ) match(old, now []int32) (from []int, inOrder bool) {
	from = make([]int, len(now))
	used := make([]bool, len(old))
	missing := 0
	for i := range now {
		if from[i] = -1; i < len(old) && d.equal(old[i], now[i]) {
			from[i], used[i] = i, true
		} else {
			missing++
		}
	}
	if missing > 0 {
		pair(old, now, from, used, func(n int32) string { return string(d.nodes[n].text) })
		pair(old, now, from, used, d.identity)
		for i := range now {
			// An element without an identity was changed in place.
			if from[i] < 0 && i < len(old) && !used[i] && (d.identity(old[i]) == "" || d.identity(now[i]) == "") {
				from[i], used[i] = i, true
			}
		}
	}
	return from, slices.IsSorted(slices.DeleteFunc(slices.Clone(from), func(f int) bool { return f < 0 }))
}

// pair pairs the unpaired elements that have equal non-empty keys, in order.
func pair(old, now []int32, from []int, used []bool, key func(int32) string) {
	byKey := map[string][]int{}
	for f, n := range old {
		if !used[f] {
			if k := key(n); k != "" {
				byKey[k] = append(byKey[k], f)
			}
		}
	}
	if len(byKey) == 0 {
		return
	}
	for i, n := range now {
		if from[i] < 0 {
			if k := key(n); len(byKey[k]) > 0 {
				from[i], byKey[k] = byKey[k][0], byKey[k][1:]
				used[from[i]] = true
			}
		}
	}
}
