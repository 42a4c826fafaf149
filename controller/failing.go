package controller

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flyball-io/flyball/object"
)

// failingAfter is how long a source may fail without a break before the state of its controller has a
// *FailingError. It is the longest wait between two calls of a handler that fails.
const failingAfter = 5 * time.Minute

// SourceFailure describes the failures of a source of a running controller.
type SourceFailure struct {
	// Source is as in "Watches(Pod)".
	Source string
	// Waiting has the namespaces of the watches that have not synced; empty for one of all namespaces. A kind that
	// the server does not serve, and that is [Source.Optional], does not count.
	Waiting []string
	// Backlog is the number of objects with changes that wait for the handler, or for a predicate that may block. It
	// includes those on which the handler failed, and those that it is called with.
	Backlog int
	// Objects is the number of objects with changes that wait because the handler fails on them. It is 0
	// for [Channel] and [Requests].
	Objects int
	// Since is when the failures without a break began: no call has succeeded since then, or one call has
	// not returned since then. Err is the latest failure. Zero and nil: the latest call succeeded.
	Since time.Time
	Err   error
}

// in names the namespaces of Waiting; empty for all.
func (s *SourceFailure) in() string { return strings.Join(s.Waiting, ", ") }

// SourceFailures has an element for each source, in the order of the sources, failing or not. It is nil while
// the controller does not run.
func (c *Controller[R]) SourceFailures() []SourceFailure {
	current, _ := c.present()
	if current == nil {
		return nil
	}
	all := make([]SourceFailure, len(current.feeds))
	for i, f := range current.feeds {
		all[i], _ = f.failure(time.Now())
		all[i].Waiting = f.lacks().waiting
		ready := f.waiting.Len() // before the others: an event that is taken meanwhile counts twice, and not never
		waiting := f.waiting.Stats()
		all[i].Backlog = ready + waiting.InFlight + waiting.Delayed
	}
	return all
}

// failing is a *FailingError with the sources that fail as a whole, nil if there are none.
func (r *running[R]) failing(now time.Time) error {
	e := &FailingError{Controller: r.name}
	for _, f := range r.feeds {
		if failure, whole := f.failure(now); whole {
			e.Sources = append(e.Sources, failure)
		}
	}
	if len(e.Sources) == 0 {
		return nil
	}
	return e
}

// failure describes the failures of the source. whole reports whether the source as such fails, and not one
// object alone.
func (f *feed[R]) failure(now time.Time) (failure SourceFailure, whole bool) {
	failure, whole = f.failures.failure(now)
	if o, is := f.outage.failure(now); o.Err != nil {
		failure.Since, failure.Err, whole = o.Since, o.Err, whole || is
	}
	if c, began, ok := f.watch.Overdue(); ok && now.Sub(began) >= failingAfter {
		failure.Since, failure.Err = began, &OverdueError{Part: c.part, Key: c.key, For: now.Sub(began)}
		whole = true
	}
	failure.Source = f.source.String()
	return failure, whole
}

// failures counts the failures of a handler.
type failures struct {
	state atomic.Int32 // atomic: a call that succeeds takes no lock

	mu    sync.Mutex
	keys  map[object.Key]uint64 // objects on which it fails, with the latest such event of each
	since time.Time             // when the failures without a break began; zero: the latest call succeeded
	err   error                 // the latest failure
}

const (
	neverSucceeded int32 = iota
	succeeded            // the latest call
	fails                // the latest call; an earlier one succeeded
)

// succeed records a call that succeeded.
func (f *failures) succeed() {
	if f.state.Load() == succeeded {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.Store(succeeded)
	f.since, f.err = time.Time{}, nil
}

// fail records a call that failed.
func (f *failures) fail(now time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.CompareAndSwap(succeeded, fails)
	f.err = err
	if f.since.IsZero() {
		f.since = now
	}
}

// pending records that an event waits for another call of the handler.
func (f *failures) pending(key object.Key, number uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keys == nil {
		f.keys = map[object.Key]uint64{}
	}
	f.keys[key] = max(f.keys[key], number)
}

// waits reports whether an event of an object waits for another call of the handler.
func (f *failures) waits(key object.Key) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.keys[key]
	return ok
}

// resolved records that no event of an object up to this number waits any more.
func (f *failures) resolved(key object.Key, number uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if last, ok := f.keys[key]; !ok || last > number {
		return
	}
	if delete(f.keys, key); len(f.keys) == 0 {
		f.keys, f.since, f.err = nil, time.Time{}, nil
	}
}

// failure reports whole for a handler that fails on several objects, or has never succeeded. A failure on one
// object alone concerns that object, as the failure of a reconcile does.
func (f *failures) failure(now time.Time) (SourceFailure, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := SourceFailure{Objects: len(f.keys), Since: f.since, Err: f.err}
	whole := len(f.keys) > 1 || len(f.keys) == 1 && f.state.Load() == neverSucceeded
	return s, whole && !f.since.IsZero() && now.Sub(f.since) >= failingAfter
}

// outage records the failures of the function of an outside source. A call that lasts for the reset time of
// the backoff ends the outage.
type outage struct {
	mu    sync.Mutex
	since time.Time // when the failures without a break began; zero: there are none
	began time.Time // of the running call; zero: none runs
	err   error     // the latest failure
}

func (o *outage) begin(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.began = now
}

func (o *outage) fail(now time.Time, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() || o.lastsLocked(now) {
		o.since = now
	}
	o.began, o.err = time.Time{}, err
}

func (o *outage) lastsLocked(now time.Time) bool {
	return !o.began.IsZero() && now.Sub(o.began) >= reopening.ResetAfter
}

func (o *outage) failure(now time.Time) (SourceFailure, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() || o.lastsLocked(now) {
		return SourceFailure{}, false
	}
	return SourceFailure{Since: o.since, Err: o.err}, now.Sub(o.since) >= failingAfter
}
