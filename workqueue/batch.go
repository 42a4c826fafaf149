package workqueue

import "unsafe"

// batchSize is how many look-ups wait at the same time.
const batchSize = 16

// batch is adds that are applied together. In a large table each look-up waits for memory, and
// the look-ups of a batch wait at the same time. Until then each add is an entry of its own, that
// is not in the table, with the time at which it was added; whatever depends on them comes after
// settle, so that nobody can tell the difference.
type batch struct {
	added   []added
	applied int // how many of added
}

type added struct {
	n     number
	delay int64
}

// postpone reports whether the add will be applied by settle.
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
	hash := c.hash(key) // first: it panics for what cannot be compared
	n := c.take(key, hash)
	c.table.expect(hash)
	e := c.node(n)
	e.stamp = t
	e.setPriority(o.Priority)
	c.cell(n).value = o.Value
	c.added = append(c.added, added{n, max(0, int64(o.After))})
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

// foresee says that the item after the next one will be handed out. The CPU itself foresees what is
// just behind the next one.
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
