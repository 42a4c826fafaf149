package workqueue

import "unsafe"

// batchSize is how many look-ups wait at the same time.
const batchSize = 16

// batch is adds that are applied together. In a large table each look-up waits for memory, and
// the look-ups of a batch wait at the same time. They keep the time at which they were added, and
// whatever depends on them comes after settle, so that nobody can tell the difference.
type batch[K comparable, V any] struct {
	added   []added[K, V]
	applied int // how many of added
}

type added[K comparable, V any] struct {
	key  K
	hash uint32
	o    AddOptions[V]
	t    int64
}

// postpone reports whether the add will be applied by settle.
func (c *Core[K, V]) postpone(key K, o AddOptions[V], t int64) bool {
	if c.used < c.limits.far || o.RateLimited {
		return false
	}
	if len(c.added) == batchSize {
		c.settle()
	}
	hash := c.hash(key) // first: it panics for what cannot be compared
	if c.added == nil {
		c.added = make([]added[K, V], 0, batchSize)
	}
	c.added = c.added[:len(c.added)+1]
	a := &c.added[len(c.added)-1]
	a.key, a.hash, a.o, a.t = key, hash, o, t
	c.table.expect(hash)
	return true
}

// settle applies what was postponed. Every operation but another add calls it first.
func (c *Core[K, V]) settle() {
	if len(c.added) > 0 {
		c.applyAll()
	}
}

func (c *Core[K, V]) applyAll() {
	for c.applied < len(c.added) {
		a := &c.added[c.applied]
		c.applied++
		c.apply(a.key, a.hash, a.o, a.t)
	}
	clear(c.added)
	c.added, c.applied = c.added[:0], 0
}

// foresee says that the item after the next one will be handed out.
func (c *Core[K, V]) foresee() {
	if c.used < c.limits.far {
		return
	}
	then := c.node(c.ready.front()).links.next
	d := c.cell(then)
	prefetch3(unsafe.Pointer(c.node(then)), unsafe.Pointer(d), unsafe.Pointer(&d.key))
}
