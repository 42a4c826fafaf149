package workqueue

import (
	"container/heap"
	"math"
	"time"
)

// core is the queue as a pure state machine: no lock, no clock, no goroutine. Time is an argument,
// in nanoseconds since the start of the queue. A time before the latest one counts as the latest.
//
// Every call that takes a time first makes the items ready that are due by then. Each is stamped
// with the time at which it was due, so the order of hand-out does not depend on the times of the
// calls.
//
// Operations on delayed items and priorities take O(log n) in their number. All others take
// constant time, but for the few that grow or shrink the map of the keys.
//
// A core must not be used by two goroutines at once.
type core[K comparable, V any] struct {
	opts          Options[K, V]
	entries[K, V] // every key that is delayed, ready or in flight
	delayed       delayed[K, V]
	ready         ready[K, V]
	running       list[K, V] // in flight, in order of hand-out
	reruns        list[K, V] // added while in flight and not handed out since, in order of due time
	readyOnDone   int        // number of keys in flight that become ready on Done

	start     time.Time
	latest    int64
	sequence  uint64 // of delayed adds
	down      bool
	lastByAge bool // the last hand-out was out of order, by age

	startSum  int64 // sum of the stamps of all items in flight, modulo 2^64
	adds      uint64
	retries   uint64
	agedTotal uint64
}

// newCore returns an empty queue, or an *option.Error.
func newCore[K comparable, V any](opts Options[K, V], start time.Time) (*core[K, V], error) {
	opts, err := opts.resolved()
	if err != nil {
		return nil, err
	}
	return &core[K, V]{opts: opts, start: start, entries: entries[K, V]{entries: map[K]*entry[K, V]{}, keep: defaultKeep}}, nil
}

// add queues key as o says, and returns its delay. After shutDown it does nothing.
func (c *core[K, V]) add(key K, o AddOptions[V], t int64) time.Duration {
	if c.down {
		return 0
	}
	e := c.entries.entries[key] // before anything changes: it panics for a key that cannot be compared
	t = c.advance(t)
	delay, backoff := max(0, int64(o.After)), int64(0)
	if o.RateLimited {
		backoff = c.backoff(e, key, t)
		delay = max(delay, backoff)
	}

	if e == nil {
		e = c.insert(key)
	}
	c.merge(e, o.Value, o.Priority)
	if e.backoff <= t && backoff > 0 {
		e.backoff = later(t, backoff)
	}
	c.schedule(e, delay, t)
	return time.Duration(delay)
}

// merge combines an add with the pending add of e, if there is one.
func (c *core[K, V]) merge(e *entry[K, V], value V, priority int) {
	if e.place == nowhere {
		e.value, e.priority = value, priority
		return
	}
	e.value = c.opts.Merge(e.value, value)
	switch {
	case priority <= e.priority:
	case e.place == isReady && !e.inFlight:
		c.ready.raise(e, priority)
	default:
		e.priority = priority
	}
}

// schedule makes e ready at t + delay. An earlier time that e already has stays.
func (c *core[K, V]) schedule(e *entry[K, V], delay, t int64) {
	switch {
	case e.place == isReady:
	case delay == 0:
		if e.place == isDelayed {
			c.delayed.remove(e)
		}
		c.admit(e, t)
	case e.place == isDelayed:
		if due := later(t, delay); due < e.due {
			e.due = due
			heap.Fix(&c.delayed, int(e.index))
		}
	default:
		c.sequence++
		e.place, e.due, e.seq = isDelayed, later(t, delay), c.sequence
		heap.Push(&c.delayed, e)
	}
}

// get hands out the next item. It fills item, which must be zero, and reports false when nothing is
// ready. The item is in flight until done. After shutDown, once nothing is in flight, get reports
// false for ever.
func (c *core[K, V]) get(t int64, item *Item[K, V]) bool {
	t = c.advance(t)
	e := c.next(t)
	if e == nil {
		return false
	}
	c.ready.remove(e)
	if e.rerun {
		c.reruns.remove(e, byRerun)
	}
	item.Key, item.Value, item.Priority, item.Waited = e.key, e.value, e.priority, time.Duration(t-e.due)
	var none V
	e.value, e.place, e.inFlight, e.rerun, e.stamp = none, nowhere, true, false, t
	c.running.append(e, byTurn)
	c.startSum += t
	if c.opts.Waited != nil {
		c.opts.Waited(item.Waited)
	}
	return true
}

// next chooses the item to hand out at t. It is the front of the highest level, or the item that
// has been ready longest, if that has waited MaxWait. Age decides at most every second time.
func (c *core[K, V]) next(t int64) *entry[K, V] {
	front, oldest := c.ready.front(), c.ready.ages.head
	if front == oldest || c.lastByAge || c.opts.MaxWait < 0 || t-oldest.stamp < int64(c.opts.MaxWait) {
		c.lastByAge = false
		return front
	}
	c.lastByAge = true
	c.agedTotal++
	return oldest
}

// findInFlight returns the entry of a key in flight, or nil.
func (c *core[K, V]) findInFlight(key K) *entry[K, V] {
	if e := c.entries.entries[key]; e != nil && e.inFlight {
		return e
	}
	return nil
}

// needsNoClock reports whether done of e needs no clock.
func (c *core[K, V]) needsNoClock(e *entry[K, V]) bool {
	return e.place == nowhere && c.opts.Worked == nil
}

// done ends the work on e, which is in flight. If its key was added since get, it is ready again as
// of t.
func (c *core[K, V]) done(e *entry[K, V], t int64) {
	t = c.advance(t)
	c.running.remove(e, byTurn)
	e.inFlight = false
	c.startSum -= e.stamp
	if c.opts.Worked != nil {
		c.opts.Worked(time.Duration(t - e.stamp))
	}
	switch e.place {
	case isReady:
		c.readyOnDone--
		e.stamp = t
		c.ready.append(e)
	case nowhere:
		c.release(e)
		c.shrink()
	}
}

// forget clears the failures that the rate limiter has counted for key.
func (c *core[K, V]) forget(key K) {
	c.opts.RateLimiter.Forget(key)
	if e := c.entries.entries[key]; e != nil {
		e.backoff = 0
	}
}

// len returns the number of ready items. It does not count delayed items nor those in flight.
func (c *core[K, V]) len(t int64) int {
	c.advance(t)
	return c.ready.ages.n
}

// nextDue returns the time when the next delayed item becomes ready. It reports false when none is
// delayed.
func (c *core[K, V]) nextDue() (int64, bool) {
	if len(c.delayed) == 0 {
		return 0, false
	}
	return c.delayed[0].due, true
}

// shutDown rejects all further adds, and drops the items that are still delayed at t. Items that
// are ready, or were added while in flight, are still handed out. A second call does nothing.
func (c *core[K, V]) shutDown(t int64) {
	if c.down {
		return
	}
	c.advance(t)
	c.down = true
	for _, e := range c.delayed {
		if e.place = nowhere; e.inFlight {
			var none V
			e.value = none
		} else {
			c.release(e)
		}
	}
	c.delayed = nil
	c.shrink()
}

// drained reports whether the queue is shut down with nothing ready and nothing in flight. Once
// true, it stays true.
func (c *core[K, V]) drained() bool { return c.down && c.ready.ages.n == 0 && c.running.n == 0 }

// advance sets the clock to t, makes all due items ready, and returns the clock.
func (c *core[K, V]) advance(t int64) int64 {
	c.latest = max(c.latest, t)
	for len(c.delayed) > 0 && c.delayed[0].due <= c.latest {
		first := c.delayed[0]
		c.delayed.remove(first)
		c.admit(first, first.due)
	}
	return c.latest
}

// admit makes e ready as of t, when its add was due. An item in flight becomes ready on Done.
func (c *core[K, V]) admit(e *entry[K, V], t int64) {
	c.adds++
	e.place, e.due = isReady, t
	if e.inFlight {
		c.readyOnDone++
		e.rerun = true
		c.reruns.append(e, byRerun)
		return
	}
	e.stamp = t
	c.ready.append(e)
}

// backoff counts a failure of key and returns its delay. If an immediate add made the key run before its
// last backoff was over, the failure is not counted: the delay is the rest of that backoff.
func (c *core[K, V]) backoff(e *entry[K, V], key K, t int64) int64 {
	c.retries++
	if e != nil && e.inFlight && e.backoff > t {
		return e.backoff - t
	}
	return max(0, int64(c.opts.RateLimiter.When(key, c.start.Add(time.Duration(t)))))
}

// later returns t + delay, or the largest time if that overflows.
func later(t, delay int64) int64 {
	if delay > math.MaxInt64-t {
		return math.MaxInt64
	}
	return t + delay
}
