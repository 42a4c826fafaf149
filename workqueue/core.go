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
// and constant time otherwise.
type Core[K comparable, V any] struct {
	opts    Options[K, V]
	entries index[K, V] // everything delayed, ready or in flight
	pool    pool[K, V]
	delayed heap[*entry[K, V]]
	ready   ready[K, V]
	running list[K, V] // in flight, by the time they were handed out

	started  bool
	epoch    time.Time // the first time seen; times are kept as nanoseconds since
	latest   int64
	sequence uint64 // of delayed adds: first come, first served when due together
	down     bool
	agedLast bool // the last hand-out was by age

	inFlight  int
	startSum  int64 // of the stamps of what is in flight, modulo 2^64
	adds      uint64
	retries   uint64
	agedTotal uint64
}

// NewCore returns an empty queue, or an error that wraps ErrOption.
func NewCore[K comparable, V any](opts Options[K, V]) (*Core[K, V], error) {
	opts, err := opts.resolved()
	if err != nil {
		return nil, err
	}
	c := &Core[K, V]{opts: opts, entries: newIndex[K, V]()}
	c.ready.init()
	c.running.which = byTime
	return c, nil
}

// Add queues key. After ShutDown it does nothing.
func (c *Core[K, V]) Add(key K, o AddOptions[V], now time.Time) { c.add(key, o, c.since(now)) }

func (c *Core[K, V]) add(key K, o AddOptions[V], t int64) {
	if c.down {
		return
	}
	t = c.advance(t)
	hash, e := c.entries.find(key)
	delay, backoff := max(0, int64(o.After)), int64(0)
	if o.RateLimited {
		backoff = c.backoff(e, key, t)
		delay = max(delay, backoff)
	}

	switch {
	case e == nil:
		e = c.pool.take(c.entries.used + 1)
		e.key, e.hash, e.value, e.priority = key, hash, o.Value, o.Priority
		c.entries.insert(e)
	case e.place == nowhere: // in flight, nothing pending yet
		e.value, e.priority = o.Value, o.Priority
	default:
		e.value = c.opts.Merge(e.value, o.Value)
		if o.Priority > e.priority {
			c.raise(e, o.Priority)
		}
	}
	if e.retryAt <= t {
		e.retryAt = later(t, backoff)
	}

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
			c.delayed.fix(e)
		}
	default:
		c.sequence++
		e.place, e.due, e.sequence = isDelayed, later(t, delay), c.sequence
		c.delayed.push(e)
	}
}

// Get hands out the next item, which is in flight until Done. It reports false when nothing is
// ready; after ShutDown that stays so once nothing is in flight.
func (c *Core[K, V]) Get(now time.Time) (Item[K, V], bool) { return c.get(c.since(now)) }

func (c *Core[K, V]) get(t int64) (Item[K, V], bool) {
	t = c.advance(t)
	e := c.next(t)
	if e == nil {
		return Item[K, V]{}, false
	}
	c.ready.remove(e)
	item := Item[K, V]{Key: e.key, Value: e.value, Priority: e.priority, Waited: time.Duration(t - e.stamp)}
	var none V
	e.value, e.place, e.inFlight, e.stamp = none, nowhere, true, t
	c.running.append(e)
	c.inFlight++
	c.startSum += t
	if c.opts.Observer != nil {
		c.opts.Observer.ObserveWait(item.Waited)
	}
	return item, true
}

// next chooses what to hand out at t: the front of the highest level, or, at most every second
// time, the item that has been ready for longest if it has waited MaxWait.
func (c *Core[K, V]) next(t int64) *entry[K, V] {
	front := c.ready.front()
	oldest := c.ready.all.head
	if front == oldest || c.agedLast || c.opts.MaxWait < 0 || t-oldest.stamp < int64(c.opts.MaxWait) {
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
	if e := c.working(key); e != nil {
		c.done(e, c.since(now))
	}
}

// working is the entry of a key in flight.
func (c *Core[K, V]) working(key K) *entry[K, V] {
	if _, e := c.entries.find(key); e != nil && e.inFlight {
		return e
	}
	return nil
}

// timeless reports whether the end of the work on e depends on no clock.
func (c *Core[K, V]) timeless(e *entry[K, V]) bool {
	return e.place == nowhere && c.opts.Observer == nil
}

func (c *Core[K, V]) done(e *entry[K, V], t int64) {
	t = c.advance(t)
	c.running.remove(e)
	e.inFlight = false
	c.inFlight--
	c.startSum -= e.stamp
	if c.opts.Observer != nil {
		c.opts.Observer.ObserveWork(time.Duration(t - e.stamp))
	}
	switch e.place {
	case isReady:
		e.stamp = t
		c.ready.append(e)
	case nowhere:
		c.release(e)
	}
}

// Forget clears what the rate limiter knows of key. The queue itself does not change.
func (c *Core[K, V]) Forget(key K) {
	c.opts.RateLimiter.Forget(key)
	if _, e := c.entries.find(key); e != nil {
		e.retryAt = 0
	}
}

// NumRequeues is how many failures the rate limiter has counted for key since Forget.
func (c *Core[K, V]) NumRequeues(key K) int { return c.opts.RateLimiter.NumRequeues(key) }

// Len is the number of items that are ready: what is delayed or in flight is not in it.
func (c *Core[K, V]) Len(now time.Time) int {
	c.advance(c.since(now))
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
	if len(c.delayed) == 0 {
		return 0, false
	}
	return c.delayed[0].due, true
}

// ShutDown ends all adding and drops what is delayed at now. What is ready, or was added while
// in flight, is still handed out. A second call does nothing.
func (c *Core[K, V]) ShutDown(now time.Time) {
	if c.down {
		return
	}
	c.advance(c.since(now))
	c.down = true
	for _, e := range c.delayed {
		e.place = nowhere
		if !e.inFlight {
			c.release(e)
		} else {
			var none V
			e.value = none
		}
	}
	c.delayed = nil
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

// advance sets the clock to t, makes ready what has come due, and returns what the clock says.
func (c *Core[K, V]) advance(t int64) int64 {
	c.latest = max(c.latest, t)
	for len(c.delayed) > 0 && c.delayed[0].due <= c.latest {
		e := c.delayed[0]
		c.delayed.remove(e)
		c.admit(e, e.due)
	}
	return c.latest
}

// admit makes e ready as of stamp; if it is in flight it joins the ready ones on Done.
func (c *Core[K, V]) admit(e *entry[K, V], stamp int64) {
	c.adds++
	e.place = isReady
	if !e.inFlight {
		e.stamp = stamp
		c.ready.append(e)
	}
}

// raise gives a pending entry a higher priority. If it is ready it goes to the end of its level,
// and keeps its stamp.
func (c *Core[K, V]) raise(e *entry[K, V], priority int) {
	if e.place == isReady && !e.inFlight {
		c.ready.raise(e, priority)
		return
	}
	e.priority = priority
}

// backoff counts a failure of key and returns its delay, or the rest of a backoff that an
// immediate add cut.
func (c *Core[K, V]) backoff(e *entry[K, V], key K, t int64) int64 {
	c.retries++
	if e != nil && e.inFlight && e.retryAt > t {
		return e.retryAt - t
	}
	return max(0, int64(c.opts.RateLimiter.When(key, c.at(t))))
}

func (c *Core[K, V]) release(e *entry[K, V]) {
	c.entries.remove(e)
	if c.pool.give(e, c.entries.used) {
		c.entries, c.delayed = newIndex[K, V](), nil
	}
}

// later is t + delay, and the end of time rather than an overflow.
func later(t, delay int64) int64 {
	if delay > math.MaxInt64-t {
		return math.MaxInt64
	}
	return t + delay
}
