package workqueue

import "hash/maphash"

// entries holds all keys of a core, in pages, and the table that finds them.
type entries[K comparable, V any] struct {
	limits  limits
	seed    maphash.Seed
	table   table
	nodes   nodes
	cells   pages[cell[K, V]]
	free    number // head of the free list, linked by links.next
	nextNew number // the lowest number never used
	used    int    // number of entries in use
	peak    int    // maximum of used since it was zero, or since the last check
}

func (x *entries[K, V]) init() {
	x.limits, x.seed = defaultLimits, maphash.MakeSeed()
	x.reset()
}

func (x *entries[K, V]) reset() {
	x.nodes, x.cells, x.free, x.nextNew = nil, nil, 0, 1
	x.table.reset(2)
}

func (x *entries[K, V]) node(n number) *node       { return x.nodes.at(n) }
func (x *entries[K, V]) cell(n number) *cell[K, V] { return x.cells.at(n) }

func (x *entries[K, V]) hash(key K) uint32 { return uint32(maphash.Comparable(x.seed, key)) }

// find returns the entry of key, or zero. hash is the hash of key.
func (x *entries[K, V]) find(key K, hash uint32) number {
	tag := tagOf(hash)
	for at := x.table.home(hash); ; at = x.table.home(at + 1) {
		g := &x.table.groups[at]
		for w := range g.tags {
			for m := matchTags(g.tags[w], tag); m != 0; m &= m - 1 {
				if n := g.entries[4*w+slotOf(m)]; x.node(n).inUse && x.cell(n).key == key {
					return n
				}
			}
		}
		if g.hasFree() {
			return 0
		}
	}
}

// insert makes an entry for a key that has none. The entry has no pending add.
func (x *entries[K, V]) insert(key K, hash uint32) number {
	n := x.free
	if n != 0 {
		x.free = x.node(n).links.next
	} else {
		n = x.nextNew
		if int(n) >= x.room() {
			x.nodes.grow()
			x.cells.grow()
		}
		x.nextNew++
	}
	e := x.node(n)
	e.hash, x.cell(n).key = hash, key
	x.addSlot(n, hash)
	e.inUse = true
	x.used++
	x.peak = max(x.peak, x.used)
	return n
}

// addSlot names n in the table: in the slot of a released entry with the same tag, or in a free one.
func (x *entries[K, V]) addSlot(n number, hash uint32) {
	if x.table.unfilled == 0 {
		x.extend()
	}
	tag := tagOf(hash)
	for at := x.table.home(hash); ; at = x.table.home(at + 1) {
		g := &x.table.groups[at]
		for w := range g.tags {
			for m := matchTags(g.tags[w], tag); m != 0; m &= m - 1 {
				slot := &g.entries[4*w+slotOf(m)]
				if other := x.node(*slot); !other.inUse || tagOf(other.hash) != tag {
					*slot = n
					return
				}
			}
		}
		if g.hasFree() {
			g.put(g.used(), hash, n)
			x.table.unfilled--
			return
		}
	}
}

// extend makes free slots: it doubles the table, or removes slots of released entries.
func (x *entries[K, V]) extend() {
	size := len(x.table.groups)
	if 2*x.used > 7*size {
		size *= 2
	}
	x.rehash(size)
}

// rehash builds a table of size groups with all entries in use.
func (x *entries[K, V]) rehash(size int) {
	x.table.reset(size)
	for n := number(1); n < x.nextNew; n++ {
		if e := x.node(n); e.inUse {
			x.table.insert(e.hash, n)
		}
	}
}

// release removes the key of n. When the queue becomes empty and the last busy period needed far
// less memory than it holds, release frees all memory and reports true. So one burst does not hold
// memory for ever, and repeated bursts do not allocate again.
func (x *entries[K, V]) release(n number) bool {
	e := x.node(n)
	e.inUse = false
	e.links.next, x.free = x.free, n
	*x.cell(n) = cell[K, V]{}
	if x.used--; x.used > 0 {
		return false
	}
	peak := x.peak
	x.peak = 0
	if room := x.room(); room <= x.limits.keep || room <= 4*peak {
		if !x.table.halfUnfilled() {
			x.table.reset(len(x.table.groups))
		}
		x.free, x.nextNew = 0, 1 // in order again: keys that follow each other are neighbours in memory
		return false
	}
	x.reset()
	return true
}

// room returns the number of entries that the pages can hold.
func (x *entries[K, V]) room() int { return x.nodes.room() }
