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
type table struct {
	groups []group // a power of two of them
	used   int
	left   int // how many free slots may still be used; a removed one is none of them
}

// group is eight slots. A tag is tagFree, tagGone, or the highest bit and 15 bits of a hash.
type group struct {
	tags    [2]uint64 // of four slots each
	entries [8]number
	_       [16]byte
}

const (
	tagFree = 0
	tagGone = 0x4000 // was in use; a search goes on behind it

	everyLow  = 0x0001_0001_0001_0001
	everyHigh = 0x8000_8000_8000_8000
)

// tagOf is the tag of a hash, four times.
func tagOf(hash uint32) uint64 { return uint64(0x8000|hash>>17) * everyLow }

// like has the highest bit of every tag that is the one sought set, and rarely one too many.
func like(tags, tag uint64) uint64 {
	x := tags ^ tag
	return (x - everyLow) &^ x & everyHigh
}

// slotOf is which of four slots the lowest bit set by like stands for.
func slotOf(m uint64) int { return bits.TrailingZeros64(m) / 16 }

// hasFree reports whether a search ends here.
func (g *group) hasFree() bool {
	a, b := g.tags[0], g.tags[1]
	return (a|a<<1)&(b|b<<1)&everyHigh != everyHigh
}

// hasRoom reports whether something can be put here.
func (g *group) hasRoom() bool { return g.tags[0]&g.tags[1]&everyHigh != everyHigh }

// reset makes the table one of size groups with nothing in it.
func (t *table) reset(size int) { *t = table{groups: make([]group, size), left: 7 * size} }

// full reports whether the table must be made anew before insert, and with how many groups.
func (t *table) full() (size int, full bool) {
	size = len(t.groups)
	if 2*t.used > 7*size {
		size *= 2
	}
	return size, t.left == 0
}

func (t *table) home(hash uint32) uint32 { return hash & uint32(len(t.groups)-1) }

// insert adds n under hash. The table must not be full.
func (t *table) insert(hash uint32, n number) {
	at := t.home(hash)
	for !t.groups[at].hasRoom() {
		at = t.home(at + 1)
	}
	g, w := &t.groups[at], 0
	m := ^g.tags[0] & everyHigh
	if m == 0 {
		m, w = ^g.tags[1]&everyHigh, 1
	}
	i := slotOf(m)
	shift := 16 * i
	if g.tags[w]>>shift&tagGone == 0 {
		t.left--
	}
	t.used++
	g.tags[w] = g.tags[w]&^(0xffff<<shift) | tagOf(hash)&(0xffff<<shift)
	g.entries[4*w+i] = n
}

// remove takes n out, which must be there under hash.
func (t *table) remove(hash uint32, n number) {
	tag := tagOf(hash)
	for at := t.home(hash); ; at = t.home(at + 1) {
		g := &t.groups[at]
		for w := range g.tags {
			for m := like(g.tags[w], tag); m != 0; m &= m - 1 {
				i := slotOf(m)
				if g.entries[4*w+i] != n {
					continue
				}
				t.used--
				gone := uint64(0)
				if g.hasFree() {
					t.left++
				} else { // a search may have gone on behind this group
					gone = tagGone
				}
				g.tags[w] = g.tags[w]&^(0xffff<<(16*i)) | gone<<(16*i)
				g.entries[4*w+i] = 0
				return
			}
		}
	}
}

// expect says that a search for hash will follow.
func (t *table) expect(hash uint32) { prefetch(unsafe.Pointer(&t.groups[t.home(hash)])) }
