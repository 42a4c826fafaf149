package workqueue

// Eager makes c do at every opportunity what it otherwise does only when it holds thousands of
// keys, or once a minute: put off adds, and move entries together.
func (c *Core[K, V]) Eager() { c.limits, c.lookAt = limits{trim: 1}, 0 }

// Eager is that of the core.
func (q *Queue[K, V]) Eager() { q.core.Eager() }

// Room is for how many keys c holds memory.
func (c *Core[K, V]) Room() int { return c.room() }
