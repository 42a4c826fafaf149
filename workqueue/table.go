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
// hash, of which rest has the lower ones. The highest bit of a hash is not used.
type group struct {
	tags    [2]uint64 // of four slots each
	entries [8]number
	rest    [8]uint16
}

const (
	everyLow  = 0x0001_0001_0001_0001
	everyHigh = uint64(0x8000_8000_8000_8000)
)

// tagOf is the tag of a hash, four times.
func tagOf(hash uint32) uint64 { return uint64(0x8000|hash>>16) * everyLow }

// like has the highest bit of every tag set that is the one sought. Those of free slots never are.
func like(tags, tag uint64) uint64 {
	x := tags ^ tag
	return ^((x&^everyHigh + ^everyHigh) | x) & everyHigh
}

// slotOf is which of four slots the lowest bit set by like stands for.
func slotOf(m uint64) int { return bits.TrailingZeros64(m) / 16 }

// hasFree reports whether a slot is free: whether a search ends here.
func (g *group) hasFree() bool { return g.tags[0]&g.tags[1]&everyHigh != everyHigh }

// put uses a free slot: the first, for they are used in order.
func (g *group) put(hash uint32, n number) {
	used := bits.OnesCount64(g.tags[0]&everyHigh) + bits.OnesCount64(g.tags[1]&everyHigh)
	w, i := used/4&1, used&3
	g.tags[w] |= tagOf(hash) & (0xffff << (16 * i))
	g.entries[used&7], g.rest[used&7] = n, uint16(hash)
}

// slot is the hash and the number of a slot, unless it is free.
func (g *group) slot(i int) (hash uint32, n number, ok bool) {
	tag := uint32(g.tags[i/4] >> (16 * (i % 4)))
	return tag&0x7fff<<16 | uint32(g.rest[i]), g.entries[i], tag&0x8000 != 0
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

// double makes the table twice as large. No slot may name what is gone. It goes through the memory
// from end to end: what is in a group comes to the same place of one of the halves, or nearly so.
func (t *table) double() {
	old := t.groups
	t.reset(2 * len(old))
	for i := 0; i < len(t.groups); i += 64 {
		t.groups[i] = group{} // memory that is read first has the kernel map it twice
	}
	for i := range old {
		for slot := range old[i].entries {
			if hash, n, ok := old[i].slot(slot); ok {
				t.insert(hash, n)
			}
		}
	}
}

// halfLeft reports whether at least half of the slots may still be used.
func (t *table) halfLeft() bool { return 2*t.left >= 7*len(t.groups) }

func (t *table) home(hash uint32) uint32 { return hash & uint32(len(t.groups)-1) }

// insert adds n under hash. The table must not be full.
func (t *table) insert(hash uint32, n number) {
	at := t.home(hash)
	for !t.groups[at].hasFree() {
		at = t.home(at + 1)
	}
	t.groups[at].put(hash, n)
	t.left--
}

// expect says that a search for hash will follow.
func (t *table) expect(hash uint32) { prefetch(unsafe.Pointer(&t.groups[t.home(hash)])) }
