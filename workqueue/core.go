package workqueue

import (
	"math"
	"time"
)

// Core is the queue as a pure state machine: no lock, no clock, no goroutine. Time is an argument
// and never runs backwards: a now before the latest one counts as the latest one.
//
// Every call that takes a time first makes the items ready that are due by then. Each is stamped
// with the time at which it was due, so the order of hand-out does not depend on the times of the
// calls.
//
// Operations on delayed items and priorities take O(log n) in their number. All others take
// constant time, but for the few that grow or trim the memory of the queue.
//
// A Core must not be used by two goroutines at once.
type Core[K comparable, V any] struct {
	opts          Options[K, V]
	entries[K, V]      // every key that is delayed, ready or in flight
	batch              // adds that are not applied yet
	delayed       heap // by due time
	ready         ready
	running       list // in flight, in order of hand-out
	reruns        reruns
	readyOnDone   int // number of keys in flight that become ready on Done

	backoffs map[number]int64 // end of the last backoff, for entries that had one

	started   bool
	epoch     time.Time // the first time seen; all times are nanoseconds since then
	latest    int64
	nextCheck int64  // next check for too much memory
	sequence  uint64 // of delayed adds: the tie-break of equal due times
	down      bool
	agedLast  bool // the last hand-out was out of order, by age

	inFlight  int
	startSum  int64 // sum of the stamps of all items in flight, modulo 2^64
	adds      uint64
	retries   uint64
	agedTotal uint64
}

// NewCore returns an empty queue, or an *option.Error.
func NewCore[K comparable, V any](opts Options[K, V]) (*Core[K, V], error) {
	opts, err := opts.resolved()
	if err != nil {
		return nil, err
	}
	c := &Core[K, V]{opts: opts}
	c.entries.init()
	c.ready.init()
	return c, nil
}

// Add queues key as o says. After ShutDown it does nothing.
func (c *Core[K, V]) Add(key K, o AddOptions[V], now time.Time) { c.add(key, o, c.since(now)) }

func (c *Core[K, V]) add(key K, o AddOptions[V], t int64) {
	if c.down || c.addToBatch(key, o, t) {
		return
	}
	c.applyPending()
	c.apply(key, c.hash(key), o, t)
}

func (c *Core[K, V]) apply(key K, hash uint32, o AddOptions[V], t int64) {
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
}

// merge combines an add with the pending add of n, if there is one.
func (c *Core[K, V]) merge(n number, value V, priority int) {
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
func (c *Core[K, V]) schedule(n number, delay, t int64) {
	switch e := c.node(n); {
	case e.place == isReady:
	case delay == 0:
		if e.place == isDelayed {
			c.delayed.remove(n)
		}
		c.admit(n, t)
	case e.place == isDelayed:
		if due := later(t, delay); due < c.delayed.rank(n) {
			c.delayed.lowerRank(n, due)
		}
	default:
		c.sequence++
		e.place = isDelayed
		c.delayed.push(n, later(t, delay), c.sequence)
	}
}

// Get hands out the next item. The item is in flight until Done. Get reports false when nothing is
// ready. After ShutDown, once nothing is in flight, it reports false for ever.
func (c *Core[K, V]) Get(now time.Time) (item Item[K, V], ok bool) {
	ok = c.get(c.since(now), &item)
	return item, ok
}

// get fills item, which must be zero, and reports whether there is one.
func (c *Core[K, V]) get(t int64, item *Item[K, V]) bool {
	c.applyPending()
	t = c.advanceAndTrim(t)
	n := c.next(t)
	if n == 0 {
		return false
	}
	e, d := c.node(n), c.cell(n)
	priority := c.priority(e)
	c.ready.remove(c.nodes, n)
	item.Key, item.Value, item.Priority, item.Waited = d.key, d.value, priority, time.Duration(t-e.stamp)
	if len(c.reruns.byNumber) > 0 {
		if added, ok := c.reruns.remove(n); ok {
			item.Waited = time.Duration(t - added)
		}
	}
	var none V
	d.value, e.place, e.inFlight, e.stamp = none, nowhere, true, t
	c.running.append(c.nodes, n)
	c.inFlight++
	c.startSum += t
	if c.opts.Observer != nil {
		c.opts.Observer.ObserveWait(item.Waited)
	}
	c.prefetchNext()
	return true
}

// next chooses the item to hand out at t. It is the front of the highest level, or the item that
// has been ready longest, if that has waited MaxWait. Age decides at most every second time.
func (c *Core[K, V]) next(t int64) number {
	front := c.ready.front()
	oldest := c.ready.oldestReady(c.nodes)
	if front == oldest || c.agedLast || c.opts.MaxWait < 0 || t-c.node(oldest).stamp < int64(c.opts.MaxWait) {
		c.agedLast = false
		return front
	}
	c.agedLast = true
	c.agedTotal++
	return oldest
}

// Done ends the work on key. If the key was added since Get, it is ready again as of now. Done of a
// key that is not in flight does nothing.
func (c *Core[K, V]) Done(key K, now time.Time) {
	c.applyPending()
	if n := c.findInFlight(key); n != 0 {
		c.done(n, c.since(now))
	}
}

// findInFlight returns the entry of a key in flight, or zero. It compares the four oldest items in
// flight before it hashes the key.
func (c *Core[K, V]) findInFlight(key K) number {
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
func (c *Core[K, V]) needsNoClock(n number) bool {
	return c.node(n).place == nowhere && c.opts.Observer == nil
}

func (c *Core[K, V]) done(n number, t int64) {
	t = c.advance(t)
	c.running.remove(c.nodes, n)
	e := c.node(n)
	e.inFlight = false
	c.inFlight--
	c.startSum -= e.stamp
	if c.opts.Observer != nil {
		c.opts.Observer.ObserveWork(time.Duration(t - e.stamp))
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

// Forget clears the failures that the rate limiter has counted for key. The queue itself does not
// change.
func (c *Core[K, V]) Forget(key K) {
	c.applyPending()
	c.opts.RateLimiter.Forget(key)
	if c.used == 0 {
		return
	}
	if n := c.find(key, c.hash(key)); n != 0 {
		c.clearBackoff(n)
	}
}

// NumRequeues returns the failures that the rate limiter has counted for key since Forget.
func (c *Core[K, V]) NumRequeues(key K) int { return c.opts.RateLimiter.NumRequeues(key) }

// Len returns the number of ready items. It does not count delayed items nor those in flight.
func (c *Core[K, V]) Len(now time.Time) int {
	c.applyPending()
	c.advanceAndTrim(c.since(now))
	return c.ready.n
}

// NextDue returns the time at which the next delayed item becomes ready. It reports false when none
// is delayed.
func (c *Core[K, V]) NextDue() (time.Time, bool) {
	due, ok := c.nextDue()
	if !ok {
		return time.Time{}, false
	}
	return c.at(due), true
}

func (c *Core[K, V]) nextDue() (int64, bool) {
	c.applyPending()
	if len(c.delayed.items) == 0 {
		return 0, false
	}
	return c.delayed.items[0].rank, true
}

// ShutDown rejects all further adds, and drops the items that are still delayed at now. Items that
// are ready, or were added while in flight, are still handed out. A second call does nothing.
func (c *Core[K, V]) ShutDown(now time.Time) {
	if c.down {
		return
	}
	c.applyPending()
	c.advance(c.since(now))
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

// ShuttingDown reports whether ShutDown was called.
func (c *Core[K, V]) ShuttingDown() bool { return c.down }

// Drained reports whether the queue is shut down with nothing ready and nothing in flight. Once
// true, it stays true.
func (c *Core[K, V]) Drained() bool { return c.down && c.ready.n == 0 && c.inFlight == 0 }

// since converts a time to nanoseconds since the epoch, the first time seen.
func (c *Core[K, V]) since(now time.Time) int64 {
	if !c.started {
		c.started, c.epoch = true, now
	}
	return int64(now.Sub(c.epoch))
}

// at returns the time t nanoseconds after the epoch.
func (c *Core[K, V]) at(t int64) time.Time { return c.epoch.Add(time.Duration(t)) }

// advanceAndTrim is advance, plus the check for too much memory. The check may renumber entries: a
// caller must not hold a number across it.
func (c *Core[K, V]) advanceAndTrim(t int64) int64 {
	t = c.advance(t)
	if t >= c.nextCheck {
		c.checkMemory()
	}
	return t
}

// advance sets the clock to t, makes all due items ready, and returns the clock.
func (c *Core[K, V]) advance(t int64) int64 {
	c.latest = max(c.latest, t)
	for len(c.delayed.items) > 0 && c.delayed.items[0].rank <= c.latest {
		first := c.delayed.items[0]
		c.delayed.remove(first.n)
		c.admit(first.n, first.rank)
	}
	return c.latest
}

// admit makes n ready as of stamp. An item in flight becomes ready on Done.
func (c *Core[K, V]) admit(n number, stamp int64) {
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

// backoff counts a failure of key and returns its delay. If an immediate add cut the last backoff
// short, it counts nothing and returns the rest of that backoff.
func (c *Core[K, V]) backoff(n number, key K, t int64) int64 {
	c.retries++
	if n != 0 && c.node(n).inFlight && c.backoffs[n] > t {
		return c.backoffs[n] - t
	}
	return max(0, int64(c.opts.RateLimiter.When(key, c.at(t))))
}

// recordBackoff records a backoff that begins at t. It keeps a recorded one that has not ended.
func (c *Core[K, V]) recordBackoff(n number, t, backoff int64) {
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
func (c *Core[K, V]) clearBackoff(n number) {
	if e := c.node(n); e.backedOff {
		e.backedOff = false
		if delete(c.backoffs, n); len(c.backoffs) == 0 {
			c.backoffs = nil
		}
	}
}

// priority returns the priority of the pending add of e.
func (c *Core[K, V]) priority(e *node) int {
	if e.place == isReady && !e.inFlight {
		return c.ready.levels[e.level].priority
	}
	return e.priority()
}

// raise sets a higher priority for the pending add of n. A ready item moves to the end of its new
// level and keeps its stamp.
func (c *Core[K, V]) raise(n number, priority int) {
	if e := c.node(n); e.place == isReady && !e.inFlight {
		c.ready.raise(c.nodes, n, priority)
	} else {
		e.setPriority(priority)
	}
}

func (c *Core[K, V]) release(n number) {
	c.clearBackoff(n)
	if c.entries.release(n) {
		c.delayed = heap{}
		c.ready.init()
	}
}

// later returns t + delay, or the largest time if that overflows.
func later(t, delay int64) int64 {
	if delay > math.MaxInt64-t {
		return math.MaxInt64
	}
	return t + delay
}
