package workqueue

import "time"

// Core is a core whose times are time.Time: the first one that it is given is its start.
type Core[K comparable, V any] struct {
	*core[K, V]
	started bool
}

func NewCore[K comparable, V any](o Options[K, V]) (*Core[K, V], error) {
	c, err := newCore(o, time.Time{})
	return &Core[K, V]{core: c}, err
}

func (c *Core[K, V]) since(now time.Time) int64 {
	if !c.started {
		c.started, c.start = true, now
	}
	return int64(now.Sub(c.start))
}

func (c *Core[K, V]) Add(key K, o AddOptions[V], now time.Time) { c.add(key, o, c.since(now)) }

func (c *Core[K, V]) Get(now time.Time) (item Item[K, V], ok bool) {
	ok = c.get(c.since(now), &item)
	return item, ok
}

func (c *Core[K, V]) Done(key K, now time.Time) {
	if e := c.findInFlight(key); e != nil {
		c.done(e, c.since(now))
	}
}

func (c *Core[K, V]) NextDue() (time.Time, bool) {
	due, ok := c.nextDue()
	return c.start.Add(time.Duration(due)), ok
}

func (c *Core[K, V]) Forget(key K)                 { c.forget(key) }
func (c *Core[K, V]) NumRequeues(key K) int        { return c.opts.RateLimiter.NumRequeues(key) }
func (c *Core[K, V]) Len(now time.Time) int        { return c.len(c.since(now)) }
func (c *Core[K, V]) Stats(now time.Time) Stats    { return c.stats(c.since(now)) }
func (c *Core[K, V]) Depths(now time.Time) []Depth { return c.depths(c.since(now)) }
func (c *Core[K, V]) ShutDown(now time.Time)       { c.shutDown(c.since(now)) }
func (c *Core[K, V]) ShuttingDown() bool           { return c.down }
func (c *Core[K, V]) Drained() bool                { return c.drained() }

// Eager makes c return memory at every opportunity.
func (c *core[K, V]) Eager() { c.keep = 0 }

// Eager makes the core return memory at every opportunity.
func (q *Queue[K, V]) Eager() { q.core.Eager() }
