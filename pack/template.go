package pack

import (
	"math/bits"
	"unsafe"
)

// Template is an object that others are packed against, and, once it was needed, an index of its
// bytes. It belongs to the goroutine of the [Packer] that it is used with.
type Template struct {
	b     []byte
	slots []uint16 // position/stride+1 of a window, by its hash; empty: not made
	shift uint8
}

// NewTemplate makes a template of b, which it keeps: b must not change any more. Readers that only
// unpack need no Template, just b.
func NewTemplate(b []byte) *Template { return &Template{b: b} }

// Bytes are those that [Unpack] wants. They are not to be changed.
func (t *Template) Bytes() []byte { return t.b }

// Size is how many bytes of memory the template holds now, with its index.
func (t *Template) Size() int { return int(unsafe.Sizeof(*t)) + cap(t.b) + 2*cap(t.slots) }

const (
	window = 6 // bytes that are hashed
	stride = 4 // of them one every so many bytes is in the index
	// indexed is how far into a template the index reaches, in bytes. Bytes behind it are found
	// when they are where they are expected.
	indexed = (1<<16 - 2) * stride
)

// slotsOf is how many slots the index of n bytes has.
func slotsOf(n int) int {
	return 1 << bits.Len(uint(max(min(n, indexed)/stride, 64)-1))
}

// build makes the index in slots, whose length is slotsOf.
func (t *Template) build(slots []uint16) {
	clear(slots)
	t.slots, t.shift = slots, uint8(64-bits.Len(uint(len(slots)-1)))
	for i := min(len(t.b)-8, indexed-stride) / stride * stride; i >= 0; i -= stride { // the first of equals wins
		slots[hash6(load64(t.b, i), t.shift)] = uint16(i/stride) + 1
	}
}

// find is where the bytes of v may be: a guess, -1 for none.
func (t *Template) find(v uint64) int { return (int(t.slots[hash6(v, t.shift)]) - 1) * stride }

func hash6(v uint64, shift uint8) uint64 { return (v << 16) * 0x9e3779b185ebca87 >> (shift & 63) }

// indexes are the templates of one packer that have an index, the oldest replaced first.
type indexes struct {
	ring []*Template
	next int
	held int // bytes
}

// add builds the index of t, taking those of others away as far as the limit wants it.
func (x *indexes) add(t *Template, limit int) {
	n := slotsOf(len(t.b))
	var spare []uint16
	for len(x.ring) > 0 && x.held+2*n > limit {
		x.next %= len(x.ring)
		s := x.ring[x.next].slots
		x.remove(x.next)
		if cap(s) == n {
			spare = s
		}
	}
	if cap(spare) < n {
		spare = make([]uint16, n)
	}
	t.build(spare[:n])
	x.held += 2 * n
	x.ring = append(x.ring, t)
	if last := len(x.ring) - 1; x.next < last { // keep the order of the round
		x.ring[last], x.ring[x.next] = x.ring[x.next], t
		x.next++
	}
}

// remove takes the index of the template at i away; the last one moves to its place.
func (x *indexes) remove(i int) {
	t, last := x.ring[i], len(x.ring)-1
	x.held -= 2 * cap(t.slots)
	t.slots = nil
	x.ring[i] = x.ring[last]
	x.ring[last] = nil
	x.ring = x.ring[:last]
}
