package workqueue

import (
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
// constant time, but for the few that grow or trim the memory of the queue.
//
// A core must not be used by two goroutines at once.
type core[K comparable, V any] struct {
	opts          Options[K, V]
	entries[K, V]      // every key that is delayed, ready or in flight
	delayed       heap // by due time
	ready         ready
	running       list // in flight, in order of hand-out
	reruns        reruns
	readyOnDone   int // number of keys in flight that become ready on Done

	backoffs map[number]int64 // end of the last backoff, for entries that had one

	start     time.Time
	latest    int64
	nextCheck int64  // next check for too much memory
	sequence  uint64 // of delayed adds: the tie-break of equal due times
	down      bool
	lastByAge bool // the last hand-out was out of order, by age

	inFlight  int
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
	c := &core[K, V]{opts: opts, start: start}
	c.entries.init()
	return c, nil
}

// add queues key as o says, and returns its delay. After shutDown it does nothing.
func (c *core[K, V]) add(key K, o AddOptions[V], t int64) time.Duration {
	if c.down {
		return 0
	}
	hash := c.hash(key) // before anything changes: it panics for a key that cannot be compared
	t = c.advanceAndTrim(t)
	n := c.find(key, hash)
	delay, backoff := max(0, int64(o.After)), int64(0)
	if o.RateLimited {
		backoff = c.backoff(n, key, t)
		delay = max(delay, backoff)
	}

	if n == 0 {
		n = c.insert(key, hash)
	}
	c.merge(n, o.Value, o.Priority)
	if backoff > 0 {
		c.recordBackoff(n, t, backoff)
	}
	c.schedule(n, delay, t)
	return time.Duration(delay)
}

// merge combines an add with the pending add of n, if there is one.
func (c *core[K, V]) merge(n number, value V, priority int) {
	e, d := c.node(n), c.cell(n)
	if e.place == nowhere {
		d.value = value
		e.setPriority(priority)
		return
	}
	d.value = c.opts.Merge(d.value, value)
	if priority > c.priority(e) {
		c.raise(n, priority)
	}
}

// schedule makes n ready at t + delay. An earlier time that n already has stays.
func (c *core[K, V]) schedule(n number, delay, t int64) {
	switch e := c.node(n); {
	case e.place == isReady:
	case delay == 0:
		if e.place == isDelayed {
			c.delayed.remove(n)
		}
		c.admit(n, t)
	case e.place == isDelayed:
		if due := later(t, delay); due < c.delayed.rank(n) {
			c.delayed.push(n, due, c.delayed.remove(n).seq)
		}
	default:
		c.sequence++
		e.place = isDelayed
		c.delayed.push(n, later(t, delay), c.sequence)
	}
}

// get hands out the next item. It fills item, which must be zero, and reports false when nothing is
// ready. The item is in flight until done. After shutDown, once nothing is in flight, get reports
// false for ever.
func (c *core[K, V]) get(t int64, item *Item[K, V]) bool {
	t = c.advanceAndTrim(t)
	n := c.next(t)
	if n == 0 {
		return false
	}
	e, d := c.node(n), c.cell(n)
	priority := c.priority(e)
	c.ready.remove(c.nodes, n)
	item.Key, item.Value, item.Priority, item.Waited = d.key, d.value, priority, time.Duration(t-e.stamp)
	if len(c.reruns.added) > 0 {
		if added, ok := c.reruns.remove(n); ok {
			item.Waited = time.Duration(t - added)
		}
	}
	var none V
	d.value, e.place, e.inFlight, e.stamp = none, nowhere, true, t
	c.running.append(c.nodes, n)
	c.inFlight++
	c.startSum += t
	if c.opts.Waited != nil {
		c.opts.Waited(item.Waited)
	}
	return true
}

// next chooses the item to hand out at t. It is the front of the highest level, or the item that
// has been ready longest, if that has waited MaxWait. Age decides at most every second time.
func (c *core[K, V]) next(t int64) number {
	front := c.ready.front()
	oldest := c.ready.oldestReady(c.nodes)
	if front == oldest || c.lastByAge || c.opts.MaxWait < 0 || t-c.node(oldest).stamp < int64(c.opts.MaxWait) {
		c.lastByAge = false
		return front
	}
	c.lastByAge = true
	c.agedTotal++
	return oldest
}

// findInFlight returns the entry of a key in flight, or zero. It compares the four oldest items in
// flight before it hashes the key.
func (c *core[K, V]) findInFlight(key K) number {
	n := c.running.head
	for range 4 {
		if n == 0 {
			return 0
		}
		if c.cell(n).key == key {
			return n
		}
		n = c.node(n).links.next
	}
	if n = c.find(key, c.hash(key)); n != 0 && c.node(n).inFlight {
		return n
	}
	return 0
}

// needsNoClock reports whether done of n needs no clock.
func (c *core[K, V]) needsNoClock(n number) bool {
	return c.node(n).place == nowhere && c.opts.Worked == nil
}

// done ends the work on n, which is in flight. If its key was added since get, it is ready again as
// of t.
func (c *core[K, V]) done(n number, t int64) {
	t = c.advance(t)
	c.running.remove(c.nodes, n)
	e := c.node(n)
	e.inFlight = false
	c.inFlight--
	c.startSum -= e.stamp
	if c.opts.Worked != nil {
		c.opts.Worked(time.Duration(t - e.stamp))
	}
	switch e.place {
	case isReady:
		c.readyOnDone--
		e.stamp = t
		c.ready.append(c.nodes, n, e.priority())
	case nowhere:
		c.release(n)
	}
}

// forget clears the failures that the rate limiter has counted for key.
func (c *core[K, V]) forget(key K) {
	c.opts.RateLimiter.Forget(key)
	if c.used == 0 {
		return
	}
	if n := c.find(key, c.hash(key)); n != 0 {
		c.clearBackoff(n)
	}
}

// len returns the number of ready items. It does not count delayed items nor those in flight.
func (c *core[K, V]) len(t int64) int {
	c.advanceAndTrim(t)
	return c.ready.n
}

// nextDue returns the time when the next delayed item becomes ready. It reports false when none is
// delayed.
func (c *core[K, V]) nextDue() (int64, bool) {
	if len(c.delayed.items) == 0 {
		return 0, false
	}
	return c.delayed.items[0].rank, true
}

// shutDown rejects all further adds, and drops the items that are still delayed at t. Items that
// are ready, or were added while in flight, are still handed out. A second call does nothing.
func (c *core[K, V]) shutDown(t int64) {
	if c.down {
		return
	}
	c.advance(t)
	c.down = true
	delayed := c.delayed.items
	c.delayed = heap{}
	for _, r := range delayed {
		c.node(r.n).place = nowhere
		if !c.node(r.n).inFlight {
			c.release(r.n)
		} else {
			var none V
			c.cell(r.n).value = none
		}
	}
}

// drained reports whether the queue is shut down with nothing ready and nothing in flight. Once
// true, it stays true.
func (c *core[K, V]) drained() bool { return c.down && c.ready.n == 0 && c.inFlight == 0 }

// advanceAndTrim is advance, plus the check for too much memory. The check may renumber entries: a
// caller must not hold a number across it.
func (c *core[K, V]) advanceAndTrim(t int64) int64 {
	t = c.advance(t)
	if t >= c.nextCheck {
		c.checkMemory()
	}
	return t
}

// advance sets the clock to t, makes all due items ready, and returns the clock.
func (c *core[K, V]) advance(t int64) int64 {
	c.latest = max(c.latest, t)
	for len(c.delayed.items) > 0 && c.delayed.items[0].rank <= c.latest {
		first := c.delayed.items[0]
		c.delayed.remove(first.n)
		c.admit(first.n, first.rank)
	}
	return c.latest
}

// admit makes n ready as of stamp. An item in flight becomes ready on Done.
func (c *core[K, V]) admit(n number, stamp int64) {
	c.adds++
	e := c.node(n)
	e.place = isReady
	if e.inFlight {
		c.readyOnDone++
		c.reruns.append(n, stamp)
		return
	}
	e.stamp = stamp
	c.ready.append(c.nodes, n, e.priority())
}

// backoff counts a failure of key and returns its delay. If an immediate add made the key run before its
// last backoff was over, the failure is not counted: the delay is the rest of that backoff.
func (c *core[K, V]) backoff(n number, key K, t int64) int64 {
	c.retries++
	if n != 0 && c.node(n).inFlight && c.backoffs[n] > t {
		return c.backoffs[n] - t
	}
	return max(0, int64(c.opts.RateLimiter.When(key, c.start.Add(time.Duration(t)))))
}

// recordBackoff records a backoff that begins at t. It keeps a recorded one that has not ended.
func (c *core[K, V]) recordBackoff(n number, t, backoff int64) {
	if c.backoffs[n] > t {
		return
	}
	if c.backoffs == nil {
		c.backoffs = map[number]int64{}
	}
	c.backoffs[n] = later(t, backoff)
	c.node(n).backedOff = true
}

// clearBackoff clears the recorded backoff of n.
func (c *core[K, V]) clearBackoff(n number) {
	if e := c.node(n); e.backedOff {
		e.backedOff = false
		if delete(c.backoffs, n); len(c.backoffs) == 0 {
			c.backoffs = nil
		}
	}
}

// priority returns the priority of the pending add of e.
func (c *core[K, V]) priority(e *node) int {
	if e.place == isReady && !e.inFlight {
		return c.ready.levels[e.level].priority
	}
	return e.priority()
}

// raise sets a higher priority for the pending add of n. A ready item moves to the end of its new
// level and keeps its stamp.
func (c *core[K, V]) raise(n number, priority int) {
	if e := c.node(n); e.place == isReady && !e.inFlight {
		c.ready.raise(c.nodes, n, priority)
	} else {
		e.setPriority(priority)
	}
}

func (c *core[K, V]) release(n number) {
	c.clearBackoff(n)
	if c.entries.release(n) {
		c.delayed, c.ready = heap{}, ready{}
	}
}

// later returns t + delay, or the largest time if that overflows.
func later(t, delay int64) int64 {
	if delay > math.MaxInt64-t {
		return math.MaxInt64
	}
	return t + delay
}
