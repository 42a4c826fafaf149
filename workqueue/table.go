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

// used is how many slots are not free: the first ones.
func (g *group) used() int {
	return bits.OnesCount64(g.tags[0]&everyHigh) + bits.OnesCount64(g.tags[1]&everyHigh)
}

// hash is that of a slot that is not free.
func (g *group) hash(slot int) uint32 {
	return uint32(g.tags[slot/4]>>(16*(slot%4)))&0x7fff<<16 | uint32(g.rest[slot])
}

// put uses the slot, which is the first that is free.
func (g *group) put(slot int, hash uint32, n number) {
	g.tags[slot/4&1] |= uint64(0x8000|hash>>16&0x7fff) << (16 * (slot & 3))
	g.entries[slot&7], g.rest[slot&7] = n, uint16(hash)
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
		g := &old[i]
		for slot := range g.used() {
			t.insert(g.hash(slot), g.entries[slot])
		}
	}
}

// halfLeft reports whether at least half of the slots may still be used.
func (t *table) halfLeft() bool { return 2*t.left >= 7*len(t.groups) }

func (t *table) home(hash uint32) uint32 { return hash & uint32(len(t.groups)-1) }

// insert adds n under hash. The table must not be full.
func (t *table) insert(hash uint32, n number) {
	at := t.home(hash)
	for {
		g := &t.groups[at]
		if used := g.used(); used < len(g.entries) {
			g.put(used, hash, n)
			t.left--
			return
		}
		at = t.home(at + 1)
	}
}

// expect says that a search for hash will follow.
func (t *table) expect(hash uint32) { prefetch(unsafe.Pointer(&t.groups[t.home(hash)])) }
