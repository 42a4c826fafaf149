package workqueue

import "math/bits"

// table is a hash table of numbers, in groups of eight slots. Two words of a group hold the tags of
// its slots. One comparison of a word tells which of its four slots may match, with few branches to
// mispredict. A search probes group after group, from the group of the hash to the first one with a
// free slot.
//
// Deletion is lazy: a lookup verifies the key of the entry that it finds. A slot of a released
// entry is reused for a hash with the same tag. All such slots are freed together when the table is
// full.
type table struct {
	groups   []group // the length is a power of two
	unfilled int     // number of slots that may still be filled
}

// group is eight slots, filled in order. A tag is zero for a free slot. Otherwise it is the highest
// bit and the upper 15 bits of a 31-bit hash: the highest bit of a hash is not used.
type group struct {
	tags    [2]uint64 // four slots each
	entries [8]number
}

const (
	everyLow  = 0x0001_0001_0001_0001
	everyHigh = uint64(0x8000_8000_8000_8000)
)

// tagOf returns the tag of a hash, repeated four times.
func tagOf(hash uint32) uint64 { return uint64(0x8000|hash>>16) * everyLow }

// matchTags sets the highest bit of each of the four tags that equals tag. It never sets the bit of
// a free slot.
func matchTags(tags, tag uint64) uint64 {
	x := tags ^ tag
	return ^((x&^everyHigh + ^everyHigh) | x) & everyHigh
}

// slotOf returns the slot, of four, of the lowest bit that matchTags has set.
func slotOf(m uint64) int { return bits.TrailingZeros64(m) / 16 }

// hasFree reports whether a slot is free, and so whether a search ends at this group.
func (g *group) hasFree() bool { return g.tags[0]&g.tags[1]&everyHigh != everyHigh }

// used returns the number of slots in use.
func (g *group) used() int {
	return bits.OnesCount64(g.tags[0]&everyHigh) + bits.OnesCount64(g.tags[1]&everyHigh)
}

// put fills slot, which must be the first free one.
func (g *group) put(slot int, hash uint32, n number) {
	g.tags[slot/4&1] |= uint64(0x8000|hash>>16&0x7fff) << (16 * (slot & 3))
	g.entries[slot&7] = n
}

// reset empties the table and gives it size groups.
func (t *table) reset(size int) {
	if size == len(t.groups) {
		clear(t.groups)
	} else {
		t.groups = make([]group, size)
	}
	t.unfilled = 7 * size
}

// halfUnfilled reports whether at least half of the slots may still be filled.
func (t *table) halfUnfilled() bool { return 2*t.unfilled >= 7*len(t.groups) }

func (t *table) home(hash uint32) uint32 { return hash & uint32(len(t.groups)-1) }

// insert adds n under hash. The table must not be full.
func (t *table) insert(hash uint32, n number) {
	at := t.home(hash)
	for {
		g := &t.groups[at]
		if used := g.used(); used < len(g.entries) {
			g.put(used, hash, n)
			t.unfilled--
			return
		}
		at = t.home(at + 1)
	}
}
