package workqueue

import (
	"math/bits"
	"unsafe"
)

// table finds numbers by hash. It is made of groups of eight slots, each group a line of the CPU's
// cache; two words of a group tell which of the eight may be the one sought. So a search takes a
// line and hardly a branch that could be guessed wrong, where it would otherwise step from slot to
// slot. Groups are searched one after the other, from the one that the hash names to the first that
// has a free slot.
//
// Nothing is ever taken out: who finds a number looks whether it is what was sought. Slots that
// name what is gone are used again for a hash like theirs, and all together when the table is full.
type table struct {
	groups []group // a power of two of them
	left   int     // how many free slots may still be used
}

// group is eight slots. A tag is zero for a slot that is free, or the highest bit and 15 bits of a
// hash.
type group struct {
	tags    [2]uint64 // of four slots each
	entries [8]number
	_       [16]byte
}

const (
	everyLow  = 0x0001_0001_0001_0001
	everyHigh = uint64(0x8000_8000_8000_8000)
)

// tagOf is the tag of a hash, four times.
func tagOf(hash uint32) uint64 { return uint64(0x8000|hash>>17) * everyLow }

// like has the highest bit of every tag set that is the one sought. Those of free slots never are.
func like(tags, tag uint64) uint64 {
	x := tags ^ tag
	return ^((x&^everyHigh + ^everyHigh) | x) & everyHigh
}

// slotOf is which of four slots the lowest bit set by like stands for.
func slotOf(m uint64) int { return bits.TrailingZeros64(m) / 16 }

// hasFree reports whether a slot is free: whether a search ends here.
func (g *group) hasFree() bool { return g.tags[0]&g.tags[1]&everyHigh != everyHigh }

// put uses a free slot.
func (g *group) put(tag uint64, n number) {
	w := 0
	m := ^g.tags[0] & everyHigh
	if m == 0 {
		m, w = ^g.tags[1]&everyHigh, 1
	}
	i := slotOf(m)
	g.tags[w] |= tag & (0xffff << (16 * i))
	g.entries[4*w+i] = n
}

// reset makes the table one of size groups with nothing in it.
func (t *table) reset(size int) {
	if size == len(t.groups) {
		clear(t.groups)
	} else {
		t.groups = make([]group, size)
	}
	t.left = 7 * size
}

// halfLeft reports whether at least half of the slots may still be used.
func (t *table) halfLeft() bool { return 2*t.left >= 7*len(t.groups) }

// sizeFor is how many groups the table needs when it is full and used slots name what is there.
func (t *table) sizeFor(used int) int {
	if size := len(t.groups); 2*used <= 7*size {
		return size
	}
	return 2 * len(t.groups)
}

func (t *table) home(hash uint32) uint32 { return hash & uint32(len(t.groups)-1) }

// insert adds n under hash. The table must not be full.
func (t *table) insert(hash uint32, n number) {
	at := t.home(hash)
	for !t.groups[at].hasFree() {
		at = t.home(at + 1)
	}
	t.groups[at].put(tagOf(hash), n)
	t.left--
}

// expect says that a search for hash will follow.
func (t *table) expect(hash uint32) { prefetch(unsafe.Pointer(&t.groups[t.home(hash)])) }
