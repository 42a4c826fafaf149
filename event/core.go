package event

import (
	"cmp"
	"container/list"
	"time"

	"github.com/flyball-io/flyball/internal/backoff"
)

// Limits bound a [Recorder]. The zero value means the defaults.
type Limits struct {
	// Queue is the number of events that may wait. Zero or negative means 1000.
	Queue int
	// Series is the number of sent series that are remembered; a repeat adds to a remembered one.
	// Zero or negative means 4000.
	Series int
	// Rate is the average number of requests a second, and Burst the number at once. Zero means 10
	// and 100. A negative Rate means no bound.
	Rate  float64
	Burst int
	// Refresh is the shortest time between two updates of the count of a series. The first repeat
	// is sent at once. Zero or negative means 30 s.
	Refresh time.Duration
	// Window is how long a series is remembered after its last event. Zero or negative means 6 min.
	Window time.Duration
	// Attempts is how often an event is sent before it is dropped. Zero or negative means 12.
	Attempts int
}

func (l Limits) withDefaults() Limits {
	l.Queue, l.Series = cmp.Or(max(l.Queue, 0), 1000), cmp.Or(max(l.Series, 0), 4000)
	l.Burst, l.Attempts = cmp.Or(max(l.Burst, 0), 100), cmp.Or(max(l.Attempts, 0), 12)
	l.Refresh, l.Window = cmp.Or(max(l.Refresh, 0), 30*time.Second), cmp.Or(max(l.Window, 0), 6*time.Minute)
	l.Rate = cmp.Or(l.Rate, 10)
	return l
}

// Stats counts events by outcome: Recorded = Sent + Dropped + Unsent.
type Stats struct {
	// Recorded is the number of events recorded.
	Recorded int
	// Sent is the number of events that the server has, as an event of their own or in the count of
	// a series.
	Sent int
	// Unsent is the number of events that wait.
	Unsent int
	// Dropped is the number of events given up: the queue was full, the server rejected them, or
	// all attempts failed.
	Dropped int
	// Waiting is the number of series that wait to be sent or updated. Remembered is the number of
	// all series.
	Waiting, Remembered int
}

// series is a sequence of events that differ only in time and note.
type series struct {
	event Event
	name  string // of the object on the server
	// first and last are the times of the first and the last event. count is the number of events.
	first, last time.Time
	count       int

	key       key
	sentCount int // count that the server has; 0 until created
	attempts  int // since the last success
	ready     bool
	due       time.Time     // if in sent: the next check
	elem      *list.Element // in ready or sent; nil while its request is open
}

// created reports whether the server has the event. If so, it is updated, otherwise created.
func (s *series) created() bool { return s.sentCount > 0 }

// kind is the kind of an input.
type kind uint8

const (
	tick     kind = iota // the time of the last output has come
	recorded             // event
	answered             // the request has ended: outcome, after
	flush                // send all that waits, without the rate limit, until closed
	closed               // drop all that waits, and all events until opened
	opened
)

// input is what has happened.
type input struct {
	kind    kind
	event   Event
	outcome outcome
	after   time.Duration // the wait that the server asks for
}

// outcome is the result of one attempt to send.
type outcome uint8

const (
	done    outcome = iota // the server has it
	failed                 // a later attempt may succeed
	missing                // the event to update does not exist, or the name of the event to create is taken
	drop                   // no attempt will succeed
)

// output is what to do next.
type output struct {
	// send is a copy of the series to send now, and nil for none. No other follows before the answer.
	send *series
	// until is the time of the next tick. Zero means that only an input makes another Step necessary.
	until time.Time
}

// core decides what to send and when. It has no goroutine, lock or clock. One goroutine at a time
// may use it. Make one with [newCore].
//
// A series waits in ready until it is sent, Warnings first. Then it moves to sent, where it is
// checked every Refresh. If it was repeated, it becomes ready again. After a Window without events
// it is forgotten.
type core struct {
	limits    Limits
	rand      func() float64 // from [0, 1)
	series    map[key]*series
	ready     [2]list.List // of *series: Warnings, Normals
	sent      list.List    // of *series, in order of due
	inFlight  *series
	openCount int // count in that request
	bucket    backoff.Bucket
	policy    backoff.Policy
	failures  int
	pause     time.Time // no request before
	names     uint64
	closed    bool
	stats     Stats
}

// newCore returns an empty core.
func newCore(l Limits, rand func() float64) *core {
	l = l.withDefaults()
	return &core{
		limits: l, rand: rand,
		series: map[key]*series{},
		bucket: backoff.Bucket{Rate: l.Rate, Burst: l.Burst},
		policy: backoff.Policy{Base: 500 * time.Millisecond, Max: 30 * time.Second, Jitter: 0.5},
	}
}

// Step takes the latest input and returns the next action. now must not go back. Only a tick has
// something to send as its output; after any other input a tick is due at once.
func (c *core) Step(now time.Time, in input) output {
	switch in.kind {
	case tick:
		return c.next(now)
	case recorded:
		c.record(now, in.event)
	case answered:
		c.answer(now, in)
	case flush:
		c.flush()
	case closed:
		c.forgetAll()
		c.closed = true
	case opened:
		c.closed = false
	}
	return output{until: now}
}

// record takes an event. When the queue is full, a Warning replaces the oldest waiting Normal. Any
// other event is dropped.
func (c *core) record(now time.Time, e Event) {
	c.stats.Recorded++
	if c.closed {
		c.stats.Dropped++
		return
	}
	e = e.fit()
	k := e.key()
	if s := c.series[k]; s != nil {
		s.count++
		s.last = now
		c.stats.Unsent++
		if s.sentCount == 1 && s.elem != nil && !s.ready {
			c.makeReady(s, false) // the first repeat is sent at once
		}
		return
	}
	if c.ready[0].Len()+c.ready[1].Len() >= c.limits.Queue {
		victim := c.ready[1].Front()
		if e.Type != Warning || victim == nil {
			c.stats.Dropped++
			return
		}
		c.forget(victim.Value.(*series))
	}
	c.names++
	s := &series{event: e, name: name(e.Regarding.Name, now, c.names), first: now, last: now, count: 1, key: k}
	c.series[k] = s
	c.stats.Unsent++
	c.makeReady(s, false)
}

// next returns the series to send, and the time of the next tick.
func (c *core) next(now time.Time) output {
	if c.inFlight != nil {
		return output{}
	}
	c.promoteDue(now)
	s := c.first()
	switch {
	case s == nil && c.sent.Len() == 0:
		return output{}
	case s == nil:
		return output{until: c.sent.Front().Value.(*series).due}
	case now.Before(c.pause):
		return output{until: c.pause}
	case !c.bucket.TryTake(now):
		return output{until: now.Add(c.bucket.Until(now, 1))}
	}
	c.unlink(s)
	c.inFlight, c.openCount = s, s.count
	send := *s
	return output{send: &send}
}

// answer takes the outcome of the request.
func (c *core) answer(now time.Time, in input) {
	s, o := c.inFlight, in.outcome
	if s == nil {
		return
	}
	c.inFlight = nil
	if o == failed {
		c.failures++
		c.pause = now.Add(max(in.after, c.policy.Delay(c.failures, c.rand())))
	} else {
		c.failures, c.pause = 0, time.Time{}
	}
	if o == failed || o == missing {
		if s.attempts++; s.attempts >= c.limits.Attempts {
			o = drop
		}
	}
	switch o {
	case drop:
		c.forget(s)
		return
	case failed:
		c.makeReady(s, true)
		return
	case missing:
		c.names++
		s.name = name(s.event.Regarding.Name, now, c.names)
		s.count -= s.sentCount
		s.sentCount = 0
		s.first = s.last
		c.makeReady(s, true)
		return
	}
	first := s.sentCount == 0
	c.stats.Sent += c.openCount - s.sentCount
	c.stats.Unsent -= c.openCount - s.sentCount
	s.sentCount, s.attempts = c.openCount, 0
	if first && s.count > s.sentCount {
		c.makeReady(s, false)
		return
	}
	c.park(now, s)
	if c.sent.Len() > c.limits.Series {
		c.forget(c.sent.Front().Value.(*series))
	}
}

// flush makes all series with unsent events ready, and lifts the rate limit.
func (c *core) flush() {
	c.bucket.Rate, c.pause = 0, time.Time{}
	for e := c.sent.Front(); e != nil; {
		s := e.Value.(*series)
		e = e.Next()
		if s.count > s.sentCount {
			c.makeReady(s, false)
		}
	}
}

// forgetAll drops what waits, and restores the rate limit.
func (c *core) forgetAll() {
	c.inFlight = nil
	c.bucket.Rate, c.failures, c.pause = c.limits.Rate, 0, time.Time{}
	for _, s := range c.series {
		c.forget(s)
	}
}

// currentStats returns the counters.
func (c *core) currentStats() Stats {
	st := c.stats
	st.Waiting, st.Remembered = c.ready[0].Len()+c.ready[1].Len(), len(c.series)
	if c.inFlight != nil {
		st.Waiting++
	}
	return st
}

// promoteDue handles the sent series that are due for a check.
func (c *core) promoteDue(now time.Time) {
	for e := c.sent.Front(); e != nil; e = c.sent.Front() {
		s := e.Value.(*series)
		switch {
		case s.due.After(now):
			return
		case s.count > s.sentCount:
			c.makeReady(s, false)
		case now.Sub(s.last) >= c.limits.Window:
			c.forget(s)
		default:
			c.park(now, s)
		}
	}
}

func (c *core) first() *series {
	for i := range c.ready {
		if e := c.ready[i].Front(); e != nil {
			return e.Value.(*series)
		}
	}
	return nil
}

func (c *core) queue(s *series) *list.List {
	switch {
	case !s.ready:
		return &c.sent
	case s.event.Type == Warning:
		return &c.ready[0]
	}
	return &c.ready[1]
}

func (c *core) unlink(s *series) {
	if s.elem != nil {
		c.queue(s).Remove(s.elem)
		s.elem = nil
	}
}

func (c *core) makeReady(s *series, front bool) {
	c.unlink(s)
	s.ready = true
	if front {
		s.elem = c.queue(s).PushFront(s)
	} else {
		s.elem = c.queue(s).PushBack(s)
	}
}

func (c *core) park(now time.Time, s *series) {
	c.unlink(s)
	s.ready, s.due = false, now.Add(c.limits.Refresh)
	s.elem = c.sent.PushBack(s)
}

func (c *core) forget(s *series) {
	c.unlink(s)
	delete(c.series, s.key)
	c.stats.Dropped += s.count - s.sentCount
	c.stats.Unsent -= s.count - s.sentCount
}
