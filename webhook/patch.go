package webhook

import (
	"bytes"
	"strconv"

	"github.com/flyball-io/flyball/webhook/internal/review"
)

// differ writes the JSON patch that applies the change between before and after to raw.
//
//	raw ──decode──► T ──encode──► before        a: the fields of the object that T knows
//	                │  Default
//	                ▼
//	                T ──encode──► after         b
//
// before and raw differ in three ways: raw has fields that T does not know, encoding adds fields to
// before, and some values are written differently. The patch contains none of these differences. It
// contains only the differences between before and after.
type differ struct {
	a, r, b *tree
	out     []byte
	path    []byte
	ops     int
}

// diff appends the patch, a JSON array, to out. It appends nothing if nothing changed. All three
// documents must be valid JSON.
func diff(out, before, raw, after []byte) ([]byte, error) {
	a, err := parse(before)
	if err != nil {
		return nil, err
	}
	defer a.free()
	r, err := parse(raw)
	if err != nil {
		return nil, err
	}
	defer r.free()
	b, err := parse(after)
	if err != nil {
		return nil, err
	}
	defer b.free()
	d := differ{a: a, r: r, b: b, out: append(out, '[')}
	d.value(0, 0, 0)
	if d.ops == 0 {
		return out, nil
	}
	return append(d.out, ']'), nil
}

// value writes the change at the current path: from node i of a to node j of b, where raw has node
// k or none.
func (d *differ) value(i, k, j int32) {
	if equal(d.a, i, d.b, j) {
		return
	}
	switch {
	case k == none:
		if text := d.merge(nil, i, none, j); !bytes.Equal(text, []byte("{}")) || d.b.nodes[j].count == 0 {
			d.op("add", text)
		}
	case d.a.is(i, '{') && d.b.is(j, '{') && d.r.is(k, '{'):
		d.object(i, k, j)
	case d.a.is(i, '[') && d.b.is(j, '[') && d.r.is(k, '['):
		d.array(i, k, j)
	default:
		d.op("replace", d.merge(nil, i, k, j))
	}
}

func (d *differ) object(i, k, j int32) {
	if i != none {
		for m := d.a.nodes[i].first; m != none; m = d.a.nodes[m].next {
			name := d.a.nodes[m].name
			if d.b.member(j, name) == none && d.r.member(k, name) != none {
				d.at(name, func() { d.op("remove", nil) })
			}
		}
	}
	for n := d.b.nodes[j].first; n != none; n = d.b.nodes[n].next {
		name := d.b.nodes[n].name
		m, l := d.a.member(i, name), d.r.member(k, name)
		switch {
		case m != none:
			d.at(name, func() { d.value(m, l, n) })
		case l == none:
			d.at(name, func() { d.op("add", d.b.text(n)) })
		case d.r.is(l, '{') && d.b.is(n, '{'): // T left it out: T knows none of its members
			d.at(name, func() { d.object(none, l, n) })
		default:
			d.at(name, func() { d.op("replace", d.b.text(n)) })
		}
	}
}

func (d *differ) array(i, k, j int32) {
	old, raw, now := d.a.elements(i), d.r.elements(k), d.b.elements(j)
	if len(old) != len(raw) {
		d.op("replace", d.b.text(j))
		return
	}
	from, inOrder := d.match(old, now)
	if !inOrder {
		d.op("replace", d.merge(nil, i, k, j))
		return
	}
	inPlace := len(old) == len(now)
	for p, f := range from {
		inPlace = inPlace && (f == p || f < 0)
	}
	if !inPlace {
		kept := make([]bool, len(old))
		for _, f := range from {
			if f >= 0 {
				kept[f] = true
			}
		}
		for p := len(old) - 1; p >= 0; p-- {
			if !kept[p] {
				d.index(p, func() { d.op("remove", nil) })
			}
		}
	}
	for p, f := range from {
		d.index(p, func() {
			switch {
			case f >= 0:
				d.value(old[f], raw[f], now[p])
			case inPlace:
				d.op("replace", d.b.text(now[p]))
			default:
				d.op("add", d.b.text(now[p]))
			}
		})
	}
}

// identities are the members that identify an element of a list, most specific first. They decide
// only which old element a new element continues. An element's unknown fields then stay with it.
var identities = [][]byte{[]byte("name"), []byte("key"), []byte("uid"), []byte("id"), []byte("type"), []byte("mountPath"), []byte("containerPort"), []byte("port"), []byte("ip")}

func identity(t *tree, n int32) string {
	for _, name := range identities {
		if m := t.member(n, name); m != none && (t.nodes[m].kind == '"' || t.nodes[m].kind == 0) {
			return string(name) + "=" + string(t.text(m))
		}
	}
	return ""
}

// match returns, for each element of b, the index of its element in a, or -1. inOrder reports
// whether the kept elements are in their old order.
func (d *differ) match(old, now []int32) (from []int, inOrder bool) {
	from = make([]int, len(now))
	used := make([]bool, len(old))
	take := func(p, f int) { from[p], used[f] = f, true }
	left := 0
	for p := range now {
		from[p] = -1
		if p < len(old) && equal(d.a, old[p], d.b, now[p]) {
			take(p, p)
		} else {
			left++
		}
	}
	if left > 0 {
		d.matchBy(old, now, from, used, func(t *tree, n int32) string { return string(t.text(n)) })
		d.matchBy(old, now, from, used, identity)
		for p := range now {
			// An element without an identity was changed in place.
			if from[p] < 0 && p < len(old) && !used[p] && (identity(d.a, old[p]) == "" || identity(d.b, now[p]) == "") {
				take(p, p)
			}
		}
	}
	last := -1
	for _, f := range from {
		if f >= 0 {
			if f < last {
				return from, false
			}
			last = f
		}
	}
	return from, true
}

// matchBy pairs the unpaired elements that have equal non-empty keys, in order.
func (d *differ) matchBy(old, now []int32, from []int, used []bool, key func(*tree, int32) string) {
	byKey := map[string][]int{}
	for f, n := range old {
		if !used[f] {
			if k := key(d.a, n); k != "" {
				byKey[k] = append(byKey[k], f)
			}
		}
	}
	if len(byKey) == 0 {
		return
	}
	for p, n := range now {
		if from[p] >= 0 {
			continue
		}
		if k := key(d.b, n); k != "" && len(byKey[k]) > 0 {
			from[p], byKey[k] = byKey[k][0], byKey[k][1:]
			used[from[p]] = true
		}
	}
}

// merge appends the new value of node k of raw when node i of a changes to node j of b. i and k may
// be none.
func (d *differ) merge(out []byte, i, k, j int32) []byte {
	if i != none && k != none && equal(d.a, i, d.b, j) {
		return append(out, d.r.text(k)...)
	}
	if d.r.is(k, 'n') {
		k = none
	}
	known := i == none || d.a.is(i, '{')
	switch {
	case d.b.is(j, '{') && known && (k == none && i != none || d.r.is(k, '{')):
		return d.mergeObject(out, i, k, j)
	case d.b.is(j, '[') && d.a.is(i, '[') && d.r.is(k, '['):
		old, raw, now := d.a.elements(i), d.r.elements(k), d.b.elements(j)
		if len(old) != len(raw) {
			break
		}
		from, _ := d.match(old, now)
		out = append(out, '[')
		for p, f := range from {
			if p > 0 {
				out = append(out, ',')
			}
			if f >= 0 {
				out = d.merge(out, old[f], raw[f], now[p])
			} else {
				out = append(out, d.b.text(now[p])...)
			}
		}
		return append(out, ']')
	}
	return append(out, d.b.text(j)...)
}

func (d *differ) mergeObject(out []byte, i, k, j int32) []byte {
	out = append(out, '{')
	open := len(out)
	member := func(name []byte) {
		if len(out) > open {
			out = append(out, ',')
		}
		out = append(review.AppendString(out, string(name)), ':')
	}
	if k != none {
		for l := d.r.nodes[k].first; l != none; l = d.r.nodes[l].next {
			name := d.r.nodes[l].name
			if d.r.member(k, name) != l {
				continue // a later member has the same name
			}
			m, n := d.a.member(i, name), d.b.member(j, name)
			switch {
			case n != none:
				member(name)
				out = d.merge(out, m, l, n)
			case m == none: // unknown to T
				member(name)
				out = append(out, d.r.text(l)...)
			}
		}
	}
	for n := d.b.nodes[j].first; n != none; n = d.b.nodes[n].next {
		name := d.b.nodes[n].name
		if d.r.member(k, name) != none {
			continue
		}
		m := d.a.member(i, name)
		if m != none && equal(d.a, m, d.b, n) {
			continue // encoding alone added it
		}
		member(name)
		out = d.merge(out, m, none, n)
	}
	return append(out, '}')
}

// at runs write with the member's name appended to the path.
func (d *differ) at(name []byte, write func()) {
	n := len(d.path)
	d.path = append(d.path, '/')
	for _, c := range name {
		switch c {
		case '~':
			d.path = append(d.path, "~0"...)
		case '/':
			d.path = append(d.path, "~1"...)
		default:
			d.path = append(d.path, c)
		}
	}
	write()
	d.path = d.path[:n]
}

// index runs write with the element's index appended to the path.
func (d *differ) index(i int, write func()) {
	n := len(d.path)
	d.path = strconv.AppendInt(append(d.path, '/'), int64(i), 10)
	write()
	d.path = d.path[:n]
}

func (d *differ) op(name string, value []byte) {
	if d.ops++; d.ops > 1 {
		d.out = append(d.out, ',')
	}
	d.out = append(d.out, `{"op":"`...)
	d.out = append(d.out, name...)
	d.out = append(d.out, `","path":`...)
	d.out = review.AppendString(d.out, string(d.path))
	if name != "remove" {
		d.out = append(d.out, `,"value":`...)
		d.out = append(d.out, value...)
	}
	d.out = append(d.out, '}')
}
