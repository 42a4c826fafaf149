package workqueue

import "unsafe"

// batchSize is the number of look-ups whose cache misses overlap.
const batchSize = 16

// batch collects adds and applies them together. In a large table each look-up misses the CPU's
// caches; the look-ups of a batch miss at the same time.
//
// A pending add has an entry of its own, which the table does not have yet, and which records the
// time of the add. Every operation that depends on pending adds calls applyPending first. So the
// batch is invisible from outside.
type batch struct {
	pending []pendingAdd
	applied int // the adds before this index are applied
}

type pendingAdd struct {
	n     number
	delay int64
}

// addToBatch appends an add to the batch, if the table is large enough to profit. It reports false
// if the caller must apply the add itself.
func (c *Core[K, V]) addToBatch(key K, o AddOptions[V], t int64) bool {
	if c.used < c.limits.far || o.RateLimited {
		return false
	}
	if len(c.pending) == batchSize {
		c.applyPending()
	}
	if c.pending == nil {
		c.pending = make([]pendingAdd, 0, batchSize)
	}
	hash := c.hash(key) // before anything changes: it panics for a key that cannot be compared
	n := c.take(key, hash)
	c.table.prefetch(hash)
	e := c.node(n)
	e.stamp = t
	e.setPriority(o.Priority)
	c.cell(n).value = o.Value
	c.pending = append(c.pending, pendingAdd{n, max(0, int64(o.After))})
	return true
}

// applyPending applies the pending adds. Every operation but another add calls it first.
func (c *Core[K, V]) applyPending() {
	if len(c.pending) > 0 {
		c.applyAll()
	}
}

func (c *Core[K, V]) applyAll() {
	for c.applied < len(c.pending) {
		a := c.pending[c.applied]
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
	c.pending, c.applied = c.pending[:0], 0
}

// prefetchNext prefetches the item after the next one. The CPU's own prefetcher covers its direct
// neighbours.
func (c *Core[K, V]) prefetchNext() {
	if c.used < c.limits.far {
		return
	}
	front := c.ready.front()
	second := c.node(front).links.next
	if second-front <= 4 {
		return
	}
	d := c.cell(second)
	prefetch3(unsafe.Pointer(c.node(second)), unsafe.Pointer(d), unsafe.Pointer(&d.key))
}
