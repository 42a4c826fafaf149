package webhook

import (
	"bytes"
	"errors"
	"sync"

	"github.com/flyball-io/flyball/webhook/internal/review"
)

// tree is a JSON document, read into one slice of nodes. Node 0 is the root.
type tree struct {
	src   []byte
	nodes []node
	names map[int32]map[string]int32 // of the members of large objects, made when first asked for
	pos   int
	depth int
}

// node is one value. Members and elements are a list: first of the parent, then next of each.
type node struct {
	kind        byte   // the first byte of the text: { [ " t f n, and 0 for a number
	start, end  int32  // in src
	first, next int32  // none is -1
	count       int32  // of members or elements
	name        []byte // of a member, unquoted
}

const none = int32(-1)

// manyNames is from how many members on an object is looked up in a map.
const manyNames = 16

const maxDepth = 10000 // as in the decoders of requests and objects

var trees = sync.Pool{New: func() any { return new(tree) }}

var (
	errNotJSON = errors.New("not valid JSON")
	errTooDeep = errors.New("nested too deeply")
)

// parse reads a document that is known to be valid JSON; what is not is found out in part.
func parse(src []byte) (*tree, error) {
	t := trees.Get().(*tree)
	t.src, t.pos, t.depth = src, 0, 0
	t.space()
	_, err := t.value(nil)
	t.space()
	if err == nil && t.pos != len(src) {
		err = errNotJSON
	}
	if err != nil {
		t.free()
		return nil, err
	}
	return t, nil
}

func (t *tree) free() {
	if cap(t.nodes) > 1<<14 {
		return
	}
	clear(t.nodes)
	t.nodes, t.src, t.names = t.nodes[:0], nil, nil
	trees.Put(t)
}

func (t *tree) space() {
	for t.pos < len(t.src) && (t.src[t.pos] == ' ' || t.src[t.pos] == '\n' || t.src[t.pos] == '\t' || t.src[t.pos] == '\r') {
		t.pos++
	}
}

// peek is the next byte, 0 at the end.
func (t *tree) peek() byte {
	if t.pos < len(t.src) {
		return t.src[t.pos]
	}
	return 0
}

// value reads the value that starts here.
func (t *tree) value(name []byte) (int32, error) {
	n := int32(len(t.nodes))
	t.nodes = append(t.nodes, node{start: int32(t.pos), first: none, next: none, name: name})
	var kind byte
	switch kind = t.peek(); kind {
	case '{', '[':
		if err := t.inside(n, kind); err != nil {
			return none, err
		}
	case '"':
		if t.str() == nil {
			return none, errNotJSON
		}
	case 0:
		return none, errNotJSON
	default:
		start := t.pos
		for t.pos < len(t.src) && bytes.IndexByte([]byte(",]} \n\t\r"), t.src[t.pos]) < 0 {
			t.pos++
		}
		if t.pos == start {
			return none, errNotJSON
		}
		if kind != 't' && kind != 'f' && kind != 'n' {
			kind = 0
		}
	}
	t.nodes[n].kind, t.nodes[n].end = kind, int32(t.pos)
	return n, nil
}

// inside reads the object or array n that starts here.
func (t *tree) inside(n int32, kind byte) error {
	if t.depth++; t.depth > maxDepth {
		return errTooDeep
	}
	end := byte('}')
	if kind == '[' {
		end = ']'
	}
	t.pos++
	t.space()
	last := none
	for t.peek() != end {
		if last != none {
			if t.peek() != ',' {
				return errNotJSON
			}
			t.pos++
			t.space()
		}
		var name []byte
		if kind == '{' {
			quoted := t.str()
			if quoted == nil {
				return errNotJSON
			}
			name = review.Unquote(quoted)
			t.space()
			if t.peek() != ':' {
				return errNotJSON
			}
			t.pos++
			t.space()
		}
		child, err := t.value(name)
		if err != nil {
			return err
		}
		if last == none {
			t.nodes[n].first = child
		} else {
			t.nodes[last].next = child
		}
		last = child
		t.nodes[n].count++
		t.space()
	}
	t.pos++
	t.depth--
	return nil
}

// str reads a quoted string; nil if there is none.
func (t *tree) str() []byte {
	start := t.pos
	if t.peek() != '"' {
		return nil
	}
	for t.pos++; t.pos < len(t.src); t.pos++ {
		switch t.src[t.pos] {
		case '\\':
			t.pos++
		case '"':
			t.pos++
			return t.src[start:t.pos]
		}
	}
	t.pos = len(t.src)
	return nil
}

func (t *tree) text(n int32) []byte { return t.src[t.nodes[n].start:t.nodes[n].end] }

func (t *tree) is(n int32, kind byte) bool { return n != none && t.nodes[n].kind == kind }

// member finds a member of an object, or none. Of several of one name
// it is the last.
func (t *tree) member(n int32, name []byte) int32 {
	if !t.is(n, '{') {
		return none
	}
	if t.nodes[n].count > manyNames {
		return t.lookup(n, name)
	}
	found := none
	for m := t.nodes[n].first; m != none; m = t.nodes[m].next {
		if bytes.Equal(t.nodes[m].name, name) {
			found = m
		}
	}
	return found
}

func (t *tree) lookup(n int32, name []byte) int32 {
	byName, ok := t.names[n]
	if !ok {
		byName = make(map[string]int32, t.nodes[n].count)
		for m := t.nodes[n].first; m != none; m = t.nodes[m].next {
			byName[string(t.nodes[m].name)] = m
		}
		if t.names == nil {
			t.names = map[int32]map[string]int32{}
		}
		t.names[n] = byName
	}
	if m, ok := byName[string(name)]; ok {
		return m
	}
	return none
}

// elements are those of an array.
func (t *tree) elements(n int32) []int32 {
	out := make([]int32, 0, t.nodes[n].count)
	for m := t.nodes[n].first; m != none; m = t.nodes[m].next {
		out = append(out, m)
	}
	return out
}

// equal reports whether two values are the same, however they are written. Numbers that are written
// differently are not.
func equal(a *tree, i int32, b *tree, j int32) bool {
	if bytes.Equal(a.text(i), b.text(j)) {
		return true
	}
	x, y := &a.nodes[i], &b.nodes[j]
	if x.kind != y.kind {
		return false
	}
	switch x.kind {
	case '"':
		return bytes.Equal(review.Unquote(a.text(i)), review.Unquote(b.text(j)))
	case '[':
		if x.count != y.count {
			return false
		}
		for m, n := x.first, y.first; m != none; m, n = a.nodes[m].next, b.nodes[n].next {
			if !equal(a, m, b, n) {
				return false
			}
		}
		return true
	case '{':
		if x.count != y.count {
			return false
		}
		for m := x.first; m != none; m = a.nodes[m].next {
			n := b.member(j, a.nodes[m].name)
			if n == none || !equal(a, a.member(i, a.nodes[m].name), b, n) {
				return false
			}
		}
		for n := y.first; n != none; n = b.nodes[n].next {
			if a.member(i, b.nodes[n].name) == none {
				return false
			}
		}
		return true
	}
	return false
}
