package webhook

import (
	"bytes"
	"iter"
	"strings"
	"sync"

	"github.com/flyball-io/flyball/internal/jsonscan"
	"github.com/flyball-io/flyball/webhook/internal/review"
)

// tree holds the values of several JSON documents, and values made of these.
type tree struct {
	nodes  []node
	byName map[int32]map[string]int32 // members of large objects, built on first lookup
}

// node is one value. Members and elements form a linked list: first and last are in the parent, next
// in each sibling.
type node struct {
	kind        byte   // the first byte: { [ " t f n, and 0 for a number
	text        []byte // as in the document; nil if the value was made
	name        []byte // of a member
	first, last int32  // none is the end
	next        int32
	count       int32 // of members or elements
}

const none = int32(-1)

// manyNames is the number of members from which an object is looked up in a map.
const manyNames = 16

var trees = sync.Pool{New: func() any { return new(tree) }}

func (t *tree) free() {
	if cap(t.nodes) > 1<<12 {
		return
	}
	clear(t.nodes)
	t.nodes, t.byName = t.nodes[:0], nil
	trees.Put(t)
}

// document reads a document.
func (t *tree) document(text []byte) (int32, error) {
	if _, _, err := jsonscan.Check(text); err != nil {
		return none, err
	}
	r := jsonscan.Reader{B: bytes.TrimSpace(text)}
	return t.read(&r, none, nil), nil
}

// read reads the value at the reader's position. The text is valid, so no step can fail.
func (t *tree) read(r *jsonscan.Reader, parent int32, name []byte) int32 {
	n, start := t.add(parent, node{name: name}), r.I
	kind := r.Peek()
	switch kind {
	case '{':
		_ = r.Object(func(name []byte) error { t.read(r, n, name); return nil })
	case '[':
		_ = r.Array(func() error { t.read(r, n, nil); return nil })
	default:
		if strings.IndexByte(`"tfn`, kind) < 0 {
			kind = 0
		}
		_ = r.Skip()
	}
	t.nodes[n].kind, t.nodes[n].text = kind, r.B[start:r.I]
	return n
}

// add adds a value, as the last one of its parent.
func (t *tree) add(parent int32, v node) int32 {
	n := int32(len(t.nodes))
	v.next = none
	if v.count == 0 {
		v.first, v.last = none, none
	}
	t.nodes = append(t.nodes, v)
	if parent != none {
		p := &t.nodes[parent]
		if p.count++; p.first == none {
			p.first = n
		} else {
			t.nodes[p.last].next = n
		}
		p.last = n
	}
	return n
}

// put adds a value that exists as a member or element of one that is made.
func (t *tree) put(parent int32, name []byte, n int32) {
	v := t.nodes[n]
	v.name = name
	t.add(parent, v)
}

func (t *tree) is(n int32, kind byte) bool { return n != none && t.nodes[n].kind == kind }

// members iterates over the members of an object, and over nothing for other values. Of several
// members with one name the last counts.
func (t *tree) members(n int32) iter.Seq2[[]byte, int32] {
	return func(yield func([]byte, int32) bool) {
		if !t.is(n, '{') {
			return
		}
		for m := t.nodes[n].first; m != none; m = t.nodes[m].next {
			if name := t.nodes[m].name; t.member(n, name) == m && !yield(name, m) {
				return
			}
		}
	}
}

// member returns the value of a member, or none.
func (t *tree) member(n int32, name []byte) (found int32) {
	found = none
	switch {
	case !t.is(n, '{'):
	case t.nodes[n].count < manyNames:
		for m := t.nodes[n].first; m != none; m = t.nodes[m].next {
			if bytes.Equal(t.nodes[m].name, name) {
				found = m
			}
		}
	default:
		byName := t.byName[n]
		if byName == nil {
			byName = make(map[string]int32, t.nodes[n].count)
			for m := t.nodes[n].first; m != none; m = t.nodes[m].next {
				byName[string(t.nodes[m].name)] = m
			}
			if t.byName == nil {
				t.byName = map[int32]map[string]int32{}
			}
			t.byName[n] = byName
		}
		if m, ok := byName[string(name)]; ok {
			found = m
		}
	}
	return found
}

// elements returns the elements of an array.
func (t *tree) elements(n int32) []int32 {
	out := make([]int32, 0, t.nodes[n].count)
	for m := t.nodes[n].first; m != none; m = t.nodes[m].next {
		out = append(out, m)
	}
	return out
}

// equal reports whether both values exist and are written in the same way. Strings are equal in any
// notation.
func (t *tree) equal(m, n int32) bool {
	if m == none || n == none || t.nodes[m].kind != t.nodes[n].kind {
		return false
	}
	a, b := t.nodes[m].text, t.nodes[n].text
	if a != nil && bytes.Equal(a, b) {
		return true
	}
	return t.nodes[m].kind == '"' && bytes.Equal(jsonscan.Unquote(a), jsonscan.Unquote(b))
}

// append appends a value as JSON.
func (t *tree) append(out []byte, n int32) []byte {
	v := t.nodes[n]
	if v.text != nil {
		return append(out, v.text...)
	}
	out = append(out, v.kind)
	for m := v.first; m != none; m = t.nodes[m].next {
		if m != v.first {
			out = append(out, ',')
		}
		if v.kind == '{' {
			out = append(review.AppendString(out, string(t.nodes[m].name)), ':')
		}
		out = t.append(out, m)
	}
	return append(out, v.kind+2) // the brace or bracket that closes it
}
