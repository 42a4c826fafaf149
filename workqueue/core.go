package workqueue

import (
	"math"
	"time"
)

// Core is the queue as a pure state machine: no lock, no clock, no goroutine. Time is an
// argument and never runs backwards: a now before the latest one seen counts as that. The calls
// that take a time first make ready what has come due by then, stamped with the time it was due,
// so the order of hand-out does not depend on when anybody looks.
//
// All operations take O(log n) at most in the number of delayed items and of priorities in use,
// and constant time otherwise; but for those that now and then grow or trim the whole.
type Core[K comparable, V any] struct {
	opts          Options[K, V]
	entries[K, V]      // everything delayed, ready or in flight
	batch              // adds to be applied
	delayed       heap // by when they are due
	ready         ready
	running       list // in flight, by the time they were handed out
	reruns        reruns
	behind        int // how many in flight are to be ready on Done

	backoffs map[number]int64 // when the last one ends, of those in use that had one

	started  bool
	epoch    time.Time // the first time seen; times are kept as nanoseconds since
	latest   int64
	lookAt   int64  // when to look whether there is too much room
	sequence uint64 // of delayed adds: first come, first served when due together
	down     bool
	agedLast bool // the last hand-out was by age

	inFlight  int
	startSum  int64 // of the stamps of what is in flight, modulo 2^64
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

// Add queues key. After ShutDown it does nothing.
func (c *Core[K, V]) Add(key K, o AddOptions[V], now time.Time) { c.add(key, o, c.since(now)) }

func (c *Core[K, V]) add(key K, o AddOptions[V], t int64) {
	if c.down || c.postpone(key, o, t) {
		return
	}
	c.settle()
	c.apply(key, c.hash(key), o, t)
}

func (c *Core[K, V]) apply(key K, hash uint32, o AddOptions[V], t int64) {
	t = c.pass(t)
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
		c.backOff(n, t, backoff)
	}
	c.schedule(n, delay, t)
}

// merge joins what is added to n with what waits, if anything does.
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

// schedule sees to it that n is ready at t + delay, or before.
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
			c.delayed.hurry(n, due)
		}
	default:
		c.sequence++
		e.place = isDelayed
		c.delayed.push(n, later(t, delay), c.sequence)
	}
}

// Get hands out the next item, which is in flight until Done. It reports false when nothing is
// ready; after ShutDown that stays so once nothing is in flight.
func (c *Core[K, V]) Get(now time.Time) (item Item[K, V], ok bool) {
	ok = c.get(c.since(now), &item)
	return item, ok
}

// get fills item, which is zero.
func (c *Core[K, V]) get(t int64, item *Item[K, V]) bool {
	c.settle()
	t = c.pass(t)
	n := c.next(t)
	if n == 0 {
		return false
	}
	e, d := c.node(n), c.cell(n)
	priority := c.priority(e)
	c.ready.remove(c.nodes, n)
	item.Key, item.Value, item.Priority, item.Waited = d.key, d.value, priority, time.Duration(t-e.stamp)
	if len(c.reruns.of) > 0 {
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
	c.foresee()
	return true
}

// next chooses what to hand out at t: the front of the highest level, or, at most every second
// time, the item that has been ready for longest if it has waited MaxWait.
func (c *Core[K, V]) next(t int64) number {
	front := c.ready.front()
	oldest := c.ready.eldest(c.nodes)
	if front == oldest || c.agedLast || c.opts.MaxWait < 0 || t-c.node(oldest).stamp < int64(c.opts.MaxWait) {
		c.agedLast = false
		return front
	}
	c.agedLast = true
	c.agedTotal++
	return oldest
}

// Done says that the work on key has ended. If the key was added meanwhile it is ready again as
// of now. Done of a key that is not in flight does nothing.
func (c *Core[K, V]) Done(key K, now time.Time) {
	c.settle()
	if n := c.working(key); n != 0 {
		c.done(n, c.since(now))
	}
}

// working is the entry of a key in flight. It looks at the few that are so for longest before it
// hashes the key.
func (c *Core[K, V]) working(key K) number {
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

// timeless reports whether the end of the work on n depends on no clock.
func (c *Core[K, V]) timeless(n number) bool {
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
		c.behind--
		e.stamp = t
		c.ready.append(c.nodes, n, e.priority())
	case nowhere:
		c.release(n)
	}
}

// Forget clears what the rate limiter knows of key. The queue itself does not change.
func (c *Core[K, V]) Forget(key K) {
	c.settle()
	c.opts.RateLimiter.Forget(key)
	if c.used == 0 {
		return
	}
	if n := c.find(key, c.hash(key)); n != 0 {
		c.forgive(n)
	}
}

// NumRequeues is how many failures the rate limiter has counted for key since Forget.
func (c *Core[K, V]) NumRequeues(key K) int { return c.opts.RateLimiter.NumRequeues(key) }

// Len is the number of items that are ready: what is delayed or in flight is not in it.
func (c *Core[K, V]) Len(now time.Time) int {
	c.settle()
	c.pass(c.since(now))
	return c.ready.n
}

// NextDue is when the next delayed item becomes ready. It reports false when none is delayed.
func (c *Core[K, V]) NextDue() (time.Time, bool) {
	due, ok := c.nextDue()
	if !ok {
		return time.Time{}, false
	}
	return c.at(due), true
}

func (c *Core[K, V]) nextDue() (int64, bool) {
	c.settle()
	if len(c.delayed.items) == 0 {
		return 0, false
	}
	return c.delayed.items[0].rank, true
}

// ShutDown ends all adding and drops what is delayed at now. What is ready, or was added while
// in flight, is still handed out. A second call does nothing.
func (c *Core[K, V]) ShutDown(now time.Time) {
	if c.down {
		return
	}
	c.settle()
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
// true it stays true.
func (c *Core[K, V]) Drained() bool { return c.down && c.ready.n == 0 && c.inFlight == 0 }

// since turns a time into nanoseconds since the epoch, which is the first time seen.
func (c *Core[K, V]) since(now time.Time) int64 {
	if !c.started {
		c.started, c.epoch = true, now
	}
	return int64(now.Sub(c.epoch))
}

// at is the time t nanoseconds after the epoch.
func (c *Core[K, V]) at(t int64) time.Time { return c.epoch.Add(time.Duration(t)) }

// pass is advance, where no entry is being looked at: their numbers may change.
func (c *Core[K, V]) pass(t int64) int64 {
	t = c.advance(t)
	if t >= c.lookAt {
		c.look()
	}
	return t
}

// advance sets the clock to t, makes ready what has come due, and returns what the clock says.
func (c *Core[K, V]) advance(t int64) int64 {
	c.latest = max(c.latest, t)
	for len(c.delayed.items) > 0 && c.delayed.items[0].rank <= c.latest {
		first := c.delayed.items[0]
		c.delayed.remove(first.n)
		c.admit(first.n, first.rank)
	}
	return c.latest
}

// admit makes n ready as of stamp; if it is in flight it joins the ready ones on Done.
func (c *Core[K, V]) admit(n number, stamp int64) {
	c.adds++
	e := c.node(n)
	e.place = isReady
	if e.inFlight {
		c.behind++
		c.reruns.append(n, stamp)
		return
	}
	e.stamp = stamp
	c.ready.append(c.nodes, n, e.priority())
}

// backoff counts a failure of key and returns its delay, or the rest of a backoff that an
// immediate add cut.
func (c *Core[K, V]) backoff(n number, key K, t int64) int64 {
	c.retries++
	if n != 0 && c.node(n).inFlight && c.backoffs[n] > t {
		return c.backoffs[n] - t
	}
	return max(0, int64(c.opts.RateLimiter.When(key, c.at(t))))
}

// backOff remembers a backoff that begins at t, but for one that has not ended yet.
func (c *Core[K, V]) backOff(n number, t, backoff int64) {
	if c.backoffs[n] > t {
		return
	}
	if c.backoffs == nil {
		c.backoffs = map[number]int64{}
	}
	c.backoffs[n] = later(t, backoff)
	c.node(n).backedOff = true
}

// forgive forgets the last backoff of n.
func (c *Core[K, V]) forgive(n number) {
	if e := c.node(n); e.backedOff {
		e.backedOff = false
		if delete(c.backoffs, n); len(c.backoffs) == 0 {
			c.backoffs = nil
		}
	}
}

// priority is that of the pending add of e.
func (c *Core[K, V]) priority(e *node) int {
	if e.place == isReady && !e.inFlight {
		return c.ready.levels[e.level].priority
	}
	return e.priority()
}

// raise gives the pending add of n a higher priority. If it is ready it goes to the end of its new
// level; the stamp stays.
func (c *Core[K, V]) raise(n number, priority int) {
	if e := c.node(n); e.place == isReady && !e.inFlight {
		c.ready.raise(c.nodes, n, priority)
	} else {
		e.setPriority(priority)
	}
}

func (c *Core[K, V]) release(n number) {
	c.forgive(n)
	if c.entries.release(n) {
		c.delayed = heap{}
		c.ready.init()
	}
}

// later is t + delay, and the end of time rather than an overflow.
func later(t, delay int64) int64 {
	if delay > math.MaxInt64-t {
		return math.MaxInt64
	}
	return t + delay
}
