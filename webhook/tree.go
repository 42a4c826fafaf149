package webhook

import (
	"bytes"
	"errors"
	"hash/maphash"
	"math/bits"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/flyball-io/flyball/webhook/internal/review"
)

// tree is a JSON document, parsed into one slice of nodes. Node 0 is the root.
type tree struct {
	src   []byte
	nodes []node
	names map[int32]map[string]int32 // members of large objects by name, built on first lookup
	pos   int
	depth int
	plain []byte // buffer for an unquoted string while it is hashed
}

// node is one value. Members and elements form a linked list: first is in the parent, next in each
// sibling.
type node struct {
	kind        byte   // the first byte of the text: { [ " t f n, and 0 for a number
	start, end  int32  // offsets in src
	first, next int32  // none is -1
	count       int32  // number of members or elements
	name        []byte // unquoted name of a member
	hash        uint64 // hash of the value, independent of the order of members and of notation
}

const none = int32(-1)

// manyNames is the number of members from which an object is looked up in a map.
const manyNames = 16

const maxDepth = 10000 // the limit of the decoders of requests and objects

// seed makes the hashes unpredictable for callers.
var seed = maphash.MakeSeed()

var trees = sync.Pool{New: func() any { return new(tree) }}

var (
	errNotJSON = errors.New("not valid JSON")
	errTooDeep = errors.New("nested too deeply")
)

// parse reads a document that is known to be valid JSON. It detects only some syntax errors.
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
	if cap(t.nodes) > 1<<14 || cap(t.plain) > 1<<16 {
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

// peek returns the next byte, or 0 at the end.
func (t *tree) peek() byte {
	if t.pos < len(t.src) {
		return t.src[t.pos]
	}
	return 0
}

// value reads the value at the current position.
func (t *tree) value(name []byte) (int32, error) {
	n := int32(len(t.nodes))
	t.nodes = append(t.nodes, node{start: int32(t.pos), first: none, next: none, name: name})
	var kind byte
	var hash uint64
	switch kind = t.peek(); kind {
	case '{', '[':
		var err error
		if hash, err = t.inside(n, kind); err != nil {
			return none, err
		}
	case '"':
		quoted := t.str()
		if quoted == nil {
			return none, errNotJSON
		}
		t.plain, _ = jsontext.AppendUnquote(t.plain[:0], quoted) // cannot fail: the string was parsed before
		hash = maphash.Bytes(seed, t.plain)
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
		hash = maphash.Bytes(seed, t.src[start:t.pos])
	}
	t.nodes[n].kind, t.nodes[n].end, t.nodes[n].hash = kind, int32(t.pos), mix(hash, uint64(kind))
	return n, nil
}

// mix folds x into a hash. The order of calls matters.
func mix(hash, x uint64) uint64 {
	hash = (bits.RotateLeft64(hash, 23) ^ x) * 0x9e3779b97f4a7c15
	return hash ^ hash>>29
}

// inside reads the object or array n at the current position, and returns a hash of its contents.
func (t *tree) inside(n int32, kind byte) (hash uint64, err error) {
	if t.depth++; t.depth > maxDepth {
		return 0, errTooDeep
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
				return 0, errNotJSON
			}
			t.pos++
			t.space()
		}
		var name []byte
		if kind == '{' {
			quoted := t.str()
			if quoted == nil {
				return 0, errNotJSON
			}
			name = review.Unquote(quoted)
			t.space()
			if t.peek() != ':' {
				return 0, errNotJSON
			}
			t.pos++
			t.space()
		}
		child, err := t.value(name)
		if err != nil {
			return 0, err
		}
		if last == none {
			t.nodes[n].first = child
		} else {
			t.nodes[last].next = child
		}
		last = child
		if kind == '[' {
			hash = mix(hash, t.nodes[child].hash)
		} else {
			hash += mix(maphash.Bytes(seed, name), t.nodes[child].hash)
		}
		t.nodes[n].count++
		t.space()
	}
	t.pos++
	t.depth--
	return hash, nil
}

// str reads a quoted string. It returns nil if there is none.
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

// member returns the node of an object's member, or none. Of several members with one name it
// returns the last.
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

// elements returns the nodes of an array's elements.
func (t *tree) elements(n int32) []int32 {
	out := make([]int32, 0, t.nodes[n].count)
	for m := t.nodes[n].first; m != none; m = t.nodes[m].next {
		out = append(out, m)
	}
	return out
}

// equal reports whether two values are the same, whatever their notation. Two exceptions hold
// unless both texts are identical: numbers in different notation differ, and objects with a
// duplicate name differ. Different values are detected in constant time, by their hashes.
func equal(a *tree, i int32, b *tree, j int32) bool {
	return a.nodes[i].hash == b.nodes[j].hash && (bytes.Equal(a.text(i), b.text(j)) || same(a, i, b, j))
}

// same compares values whose hashes are equal.
func same(a *tree, i int32, b *tree, j int32) bool {
	x, y := &a.nodes[i], &b.nodes[j]
	if x.kind != y.kind || x.count != y.count {
		return false
	}
	switch x.kind {
	case '"':
		return bytes.Equal(review.Unquote(a.text(i)), review.Unquote(b.text(j)))
	case '[':
		for m, n := x.first, y.first; m != none; m, n = a.nodes[m].next, b.nodes[n].next {
			if !same(a, m, b, n) {
				return false
			}
		}
		return true
	case '{':
		for m := x.first; m != none; m = a.nodes[m].next {
			name := a.nodes[m].name
			n := b.member(j, name)
			if n == none || a.member(i, name) != m || !same(a, m, b, n) {
				return false
			}
		}
		return true
	}
	return bytes.Equal(a.text(i), b.text(j))
}
