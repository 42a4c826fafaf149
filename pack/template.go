package pack

import (
	"math/bits"
	"unsafe"
)

// Template is an object that others are packed against, and an index of its bytes once one is
// needed. It belongs to the goroutine of the [Packer] that uses it.
type Template struct {
	b     []byte
	slots []uint16 // position/stride+1 of a window, by its hash; empty: no index
	shift uint8
}

// NewTemplate makes a template of b and keeps b, which must not change afterwards. A reader that
// only unpacks needs b, not a Template.
func NewTemplate(b []byte) *Template { return &Template{b: b} }

// Bytes returns the bytes for [Unpack]. They are read only.
func (t *Template) Bytes() []byte { return t.b }

// Size is the memory of the template in bytes, with its index.
func (t *Template) Size() int { return int(unsafe.Sizeof(*t)) + cap(t.b) + 2*cap(t.slots) }

const (
	window = 6 // bytes that are hashed
	stride = 4 // distance of the indexed positions
	// indexed is how many bytes of a template the index covers. Later bytes are matched only where
	// they are expected.
	indexed = (1<<16 - 2) * stride
)

// slotsOf returns the number of slots in the index of n bytes.
func slotsOf(n int) int {
	return 1 << bits.Len(uint(max(min(n, indexed)/stride, 64)-1))
}

// build makes the index in slots; its length must be slotsOf(len(t.b)).
func (t *Template) build(slots []uint16) {
	clear(slots)
	t.slots, t.shift = slots, uint8(64-bits.Len(uint(len(slots)-1)))
	for i := min(len(t.b)-8, indexed-stride) / stride * stride; i >= 0; i -= stride { // the first of equal windows wins
		slots[hash6(load64(t.b, i), t.shift)] = uint16(i/stride) + 1
	}
}

// find returns a possible position of the bytes of v; -1 for none. The caller compares.
func (t *Template) find(v uint64) int { return (int(t.slots[hash6(v, t.shift)]) - 1) * stride }

func hash6(v uint64, shift uint8) uint64 { return (v << 16) * 0x9e3779b185ebca87 >> (shift & 63) }

// indexes holds the templates of one packer that have an index. The oldest index is dropped first.
type indexes struct {
	ring []*Template
	next int
	held int // bytes
}

// add builds the index of t. It drops other indexes as far as the limit requires.
func (x *indexes) add(t *Template, limit int) {
	n := slotsOf(len(t.b))
	var reused []uint16
	for len(x.ring) > 0 && x.held+2*n > limit {
		x.next %= len(x.ring)
		s := x.ring[x.next].slots
		x.remove(x.next)
		if cap(s) == n {
			reused = s
		}
	}
	if cap(reused) < n {
		reused = make([]uint16, n)
	}
	t.build(reused[:n])
	x.held += 2 * n
	x.ring = append(x.ring, t)
	if last := len(x.ring) - 1; x.next < last { // keep the order of the ring
		x.ring[last], x.ring[x.next] = x.ring[x.next], t
		x.next++
	}
}

// remove drops the index of the template at i; the last template moves to its place.
func (x *indexes) remove(i int) {
	t, last := x.ring[i], len(x.ring)-1
	x.held -= 2 * cap(t.slots)
	t.slots = nil
	x.ring[i] = x.ring[last]
	x.ring[last] = nil
	x.ring = x.ring[:last]
}
