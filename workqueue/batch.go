package workqueue

import "unsafe"

// batchSize is the number of look-ups whose cache misses overlap.
const batchSize = 16

// batch collects adds and applies them together. In a large table each look-up misses the CPU's
// caches; the look-ups of a batch miss at the same time.
//
// A pending add has an entry of its own, which the table does not have yet, and which records the
// time of the add. Every operation that depends on pending adds calls settle first. So the batch is
// invisible from outside.
type batch struct {
	added   []added
	applied int // the adds before this index are applied
}

type added struct {
	n     number
	delay int64
}

// postpone appends an add to the batch, if the table is large enough to profit. It reports false if
// the caller must apply the add itself.
func (c *Core[K, V]) postpone(key K, o AddOptions[V], t int64) bool {
	if c.used < c.limits.far || o.RateLimited {
		return false
	}
	if len(c.added) == batchSize {
		c.settle()
	}
	if c.added == nil {
		c.added = make([]added, 0, batchSize)
	}
	hash := c.hash(key) // before anything changes: it panics for a key that cannot be compared
	n := c.take(key, hash)
	c.table.expect(hash)
	e := c.node(n)
	e.stamp = t
	e.setPriority(o.Priority)
	c.cell(n).value = o.Value
	c.added = append(c.added, added{n, max(0, int64(o.After))})
	return true
}

// settle applies the pending adds. Every operation but another add calls it first.
func (c *Core[K, V]) settle() {
	if len(c.added) > 0 {
		c.applyAll()
	}
}

func (c *Core[K, V]) applyAll() {
	for c.applied < len(c.added) {
		a := c.added[c.applied]
		c.applied++
		t := c.advance(c.node(a.n).stamp)
		n := c.enter(a.n)
		if n != a.n {
			value, priority := c.cell(a.n).value, c.node(a.n).priority()
			c.drop(a.n)
			c.merge(n, value, priority)
		}
		c.schedule(n, a.delay, t)
	}
	c.added, c.applied = c.added[:0], 0
}

// foresee prefetches the item after the next one. The CPU's own prefetcher covers its direct
// neighbours.
func (c *Core[K, V]) foresee() {
	if c.used < c.limits.far {
		return
	}
	front := c.ready.front()
	then := c.node(front).links.next
	if then-front <= 4 {
		return
	}
	d := c.cell(then)
	prefetch3(unsafe.Pointer(c.node(then)), unsafe.Pointer(d), unsafe.Pointer(&d.key))
}
