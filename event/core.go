package event

import (
	"container/list"
	"time"

	"github.com/flyball-io/flyball/backoff"
)

// Limits bound a Core. The zero value means the defaults.
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
	number := func(n *int, v int) {
		if *n <= 0 {
			*n = v
		}
	}
	duration := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	number(&l.Queue, 1000)
	number(&l.Series, 4000)
	number(&l.Burst, 100)
	number(&l.Attempts, 12)
	duration(&l.Refresh, 30*time.Second)
	duration(&l.Window, 6*time.Minute)
	if l.Rate == 0 {
		l.Rate = 10
	}
	return l
}

// Stats counts events by outcome: Recorded = Told + Dropped + Untold.
type Stats struct {
	// Recorded is the number of events recorded.
	Recorded int
	// Told is the number of events that the server has, as an event of their own or in the count of
	// a series.
	Told int
	// Untold is the number of events that wait.
	Untold int
	// Dropped is the number of events given up: the queue was full, the server rejected them, or
	// all attempts failed.
	Dropped int
	// Waiting is the number of series that wait to be sent or updated. Remembered is the number of
	// all series.
	Waiting, Remembered int
}

// Series is a sequence of events that differ only in time and note.
type Series struct {
	Event Event
	// Name of the object on the server.
	Name string
	// First and Last are the times of the first and the last event. Count is the number of events.
	First, Last time.Time
	Count       int

	key       key
	sentCount int // count that the server has; 0 until created
	attempts  int // since the last success
	ready     bool
	due       time.Time     // if in sent: the next check
	elem      *list.Element // in ready or sent; nil while its request is open
}

// Created reports whether the server has the event. If so, it is updated, otherwise created.
func (s *Series) Created() bool { return s.sentCount > 0 }

// Retried reports whether the event was sent before without a successful answer.
func (s *Series) Retried() bool { return s.attempts > 0 }

// Outcome is the result of one attempt to send.
type Outcome uint8

const (
	// Done: the server has it.
	Done Outcome = iota
	// Again: a later attempt may succeed.
	Again
	// Missing: the event to update does not exist, or the name of the event to create is taken. It
	// is created under another name.
	Missing
	// Drop: no attempt will succeed.
	Drop
)

// Core decides what to send and when. It has no goroutine, lock or clock. One goroutine at a time
// may use it. Make one with NewCore.
//
// A series waits in ready until it is sent, Warnings first. Then it moves to sent, where it is
// checked every Refresh. If it was repeated, it becomes ready again. After a Window without events
// it is forgotten.
type Core struct {
	limits    Limits
	series    map[key]*Series
	ready     [2]list.List // of *Series: Warnings, Normals
	sent      list.List    // of *Series, in order of due
	inFlight  *Series
	openCount int // count in that request
	bucket    backoff.Bucket
	policy    backoff.Policy
	failures  int
	pause     time.Time // no request before
	names     uint64
	stats     Stats
}

// NewCore returns an empty Core.
func NewCore(l Limits) *Core {
	l = l.withDefaults()
	return &Core{
		limits: l,
		series: map[key]*Series{},
		bucket: backoff.Bucket{Rate: l.Rate, Burst: l.Burst},
		policy: backoff.Policy{Base: 500 * time.Millisecond, Max: 30 * time.Second, Jitter: 0.5},
	}
}

// Add records an event. When the queue is full, a Warning replaces the oldest waiting Normal. Any
// other event is dropped.
func (c *Core) Add(now time.Time, e Event) {
	c.stats.Recorded++
	e = e.fit()
	k := e.key()
	if s := c.series[k]; s != nil {
		s.Count++
		s.Last = now
		c.stats.Untold++
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
		c.forget(victim.Value.(*Series))
	}
	c.names++
	s := &Series{Event: e, Name: name(e.Regarding.Name, now, c.names), First: now, Last: now, Count: 1, key: k}
	c.series[k] = s
	c.stats.Untold++
	c.makeReady(s, false)
}

// Next returns the series to send now; Report must follow. If there is none, wait is the time until
// the next call. Zero means no call before the next Add.
func (c *Core) Next(now time.Time) (next Series, ok bool, wait time.Duration) {
	if c.inFlight != nil {
		return Series{}, false, 0
	}
	c.promoteDue(now)
	s := c.first()
	if s == nil {
		if f := c.sent.Front(); f != nil {
			wait = max(f.Value.(*Series).due.Sub(now), time.Millisecond)
		}
		return Series{}, false, wait
	}
	if now.Before(c.pause) {
		return Series{}, false, c.pause.Sub(now)
	}
	if !c.bucket.TryTake(now) {
		return Series{}, false, c.bucket.Until(now, 1)
	}
	c.unlink(s)
	c.inFlight, c.openCount = s, s.Count
	return *s, true, 0
}

// Report records the outcome of the series from Next. atLeast is the wait that the server asks for.
// random is drawn from [0, 1).
func (c *Core) Report(now time.Time, random float64, o Outcome, atLeast time.Duration) {
	s := c.inFlight
	if s == nil {
		return
	}
	c.inFlight = nil
	if o == Again {
		c.failures++
		c.pause = now.Add(max(atLeast, c.policy.Delay(c.failures, random)))
	} else {
		c.failures, c.pause = 0, time.Time{}
	}
	if o == Again || o == Missing {
		if s.attempts++; s.attempts >= c.limits.Attempts {
			o = Drop
		}
	}
	switch o {
	case Drop:
		c.forget(s)
		return
	case Again:
		c.makeReady(s, true)
		return
	case Missing:
		c.names++
		s.Name = name(s.Event.Regarding.Name, now, c.names)
		s.Count -= s.sentCount
		s.sentCount = 0
		s.First = s.Last
		c.makeReady(s, true)
		return
	}
	first := s.sentCount == 0
	c.stats.Told += c.openCount - s.sentCount
	c.stats.Untold -= c.openCount - s.sentCount
	s.sentCount, s.attempts = c.openCount, 0
	if first && s.Count > s.sentCount {
		c.makeReady(s, false)
		return
	}
	c.park(now, s)
	if c.sent.Len() > c.limits.Series {
		c.forget(c.sent.Front().Value.(*Series))
	}
}

// Flush makes all series with unsent events ready, and lifts the rate limit until Close.
func (c *Core) Flush() {
	c.bucket.Rate, c.pause = 0, time.Time{}
	for e := c.sent.Front(); e != nil; {
		s := e.Value.(*Series)
		e = e.Next()
		if s.Count > s.sentCount {
			c.makeReady(s, false)
		}
	}
}

// Refuse counts an event that came after Close.
func (c *Core) Refuse() {
	c.stats.Recorded++
	c.stats.Dropped++
}

// Close forgets all series and drops unsent events. The Core can be used again.
func (c *Core) Close() {
	c.inFlight = nil
	c.bucket.Rate, c.failures, c.pause = c.limits.Rate, 0, time.Time{}
	for _, s := range c.series {
		c.forget(s)
	}
}

// Stats returns the counters.
func (c *Core) Stats() Stats {
	st := c.stats
	st.Waiting, st.Remembered = c.ready[0].Len()+c.ready[1].Len(), len(c.series)
	if c.inFlight != nil {
		st.Waiting++
	}
	return st
}

// promoteDue handles the sent series that are due for a check.
func (c *Core) promoteDue(now time.Time) {
	for e := c.sent.Front(); e != nil; e = c.sent.Front() {
		s := e.Value.(*Series)
		switch {
		case s.due.After(now):
			return
		case s.Count > s.sentCount:
			c.makeReady(s, false)
		case now.Sub(s.Last) >= c.limits.Window:
			c.forget(s)
		default:
			c.park(now, s)
		}
	}
}

func (c *Core) first() *Series {
	for i := range c.ready {
		if e := c.ready[i].Front(); e != nil {
			return e.Value.(*Series)
		}
	}
	return nil
}

func (c *Core) queue(s *Series) *list.List {
	switch {
	case !s.ready:
		return &c.sent
	case s.Event.Type == Warning:
		return &c.ready[0]
	}
	return &c.ready[1]
}

func (c *Core) unlink(s *Series) {
	if s.elem != nil {
		c.queue(s).Remove(s.elem)
		s.elem = nil
	}
}

func (c *Core) makeReady(s *Series, front bool) {
	c.unlink(s)
	s.ready = true
	if front {
		s.elem = c.queue(s).PushFront(s)
	} else {
		s.elem = c.queue(s).PushBack(s)
	}
}

func (c *Core) park(now time.Time, s *Series) {
	c.unlink(s)
	s.ready, s.due = false, now.Add(c.limits.Refresh)
	s.elem = c.sent.PushBack(s)
}

func (c *Core) forget(s *Series) {
	c.unlink(s)
	delete(c.series, s.key)
	c.stats.Dropped += s.Count - s.sentCount
	c.stats.Untold -= s.Count - s.sentCount
}
