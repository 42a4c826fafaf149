package workqueue

// Eager lowers the limits of c: it batches adds and trims entries at every opportunity, instead of
// with thousands of keys and once a minute.
func (c *Core[K, V]) Eager() { c.limits, c.nextCheck = limits{trim: 1}, 0 }

// Eager lowers the limits of the core.
func (q *Queue[K, V]) Eager() { q.core.Eager() }

// Room returns the number of keys for which c holds memory.
func (c *Core[K, V]) Room() int { return c.room() }
