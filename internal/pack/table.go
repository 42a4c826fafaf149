package pack

import "math/bits"

// table maps a hash of four bytes to their last position in an object. It is not emptied between
// objects: each object has a position range of its own.
type table struct {
	slots []uint32 // base + position + 1
	base  uint32
	end   uint32
	shift uint8
}

// next begins an object of n bytes.
func (t *table) next(n int) {
	if t.slots == nil {
		size := 1 << 12
		if n >= bigObject {
			size = 1 << 15
		}
		t.slots = make([]uint32, size)
		t.shift = uint8(32 - bits.Len(uint(size-1)))
	}
	t.base = t.end
	if t.base > 1<<31 {
		clear(t.slots)
		t.base = 0
	}
	t.end = t.base + uint32(n) + 1
}

func (t *table) slot(v uint32) *uint32 {
	return &t.slots[int(v*2654435761>>(t.shift&31))&(len(t.slots)-1)]
}

// insert adds position i, if four bytes follow.
func (t *table) insert(obj []byte, i int) {
	if i+4 <= len(obj) {
		*t.slot(load32(obj, i)) = t.base + uint32(i) + 1
	}
}

// find returns a possible earlier position of the bytes at i, or -1.
func (t *table) find(obj []byte, i int) int {
	if i+4 > len(obj) {
		return -1
	}
	return t.before(*t.slot(load32(obj, i)), i)
}

// swap is find followed by insert.
func (t *table) swap(obj []byte, i int) int {
	if i+4 > len(obj) {
		return -1
	}
	s := t.slot(load32(obj, i))
	was := *s
	*s = t.base + uint32(i) + 1
	return t.before(was, i)
}

func (t *table) before(v uint32, i int) int {
	if v <= t.base || int(v-t.base-1) >= i {
		return -1
	}
	return int(v - t.base - 1)
}
