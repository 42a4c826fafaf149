package controller

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/flyball-io/flyball/object"
)

// failingAfter is how long a source may fail without a break before its controller says so in its
// state: as long as the longest wait between two calls of a handler that fails.
const failingAfter = 5 * time.Minute

// SourceFailure is how a source of a controller that works fails.
type SourceFailure struct {
	// Source is named as in "Watches(Pod)".
	Source string
	// Objects is how many objects have changes that wait, since the handler fails on them. It is 0 for
	// a source that feeds requests itself.
	Objects int
	// Since is when the failures without a break began: no call of the handler has succeeded since
	// then, or it has not returned. Err is the latest. Zero and nil: nothing fails, or the latest call
	// was in order.
	Since time.Time
	Err   error
}

// SourceFailures are the sources of the controller, in the order in which they were given, and how
// they fail, those included that do not; none while it does not run.
func (c *Controller[R]) SourceFailures() []SourceFailure {
	current, _ := c.now()
	if current == nil {
		return nil
	}
	all := make([]SourceFailure, len(current.feeds))
	for i, f := range current.feeds {
		all[i], _ = f.failure(time.Now())
	}
	return all
}

// failing is a *FailingError with the sources that fail as such, nil if none does.
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

// failure says how the source fails, and whether that is the source, rather than one object.
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

// failures is what a handler fails on.
type failures struct {
	state atomic.Int32 // so that a call in order costs no lock

	mu    sync.Mutex
	keys  map[object.Key]uint64 // objects on which it fails, and the latest such event of each
	since time.Time             // when the failures without a break began; zero: the latest call was in order
	err   error                 // the latest
}

const (
	neverCalled int32 = iota // it has never succeeded
	succeeded
	fails // it has succeeded at some time, but not in its latest call
)

// succeed says that a call was in order.
func (f *failures) succeed() {
	if f.state.Load() == succeeded {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.Store(succeeded)
	f.since, f.err = time.Time{}, nil
}

// fail says that a call failed.
func (f *failures) fail(now time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state.CompareAndSwap(succeeded, fails)
	f.err = err
	if f.since.IsZero() {
		f.since = now
	}
}

// wait says that an event waits for the handler to be called again, dealt that none of an object does
// up to an event.
func (f *failures) wait(key object.Key, number uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keys == nil {
		f.keys = map[object.Key]uint64{}
	}
	f.keys[key] = max(f.keys[key], number)
}

func (f *failures) dealt(key object.Key, number uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if last, ok := f.keys[key]; !ok || last > number {
		return
	}
	if delete(f.keys, key); len(f.keys) == 0 {
		f.keys, f.since, f.err = nil, time.Time{}, nil
	}
}

// failure reports the handler itself if it fails on several objects, or has never succeeded: one
// object on which it fails is an object's failure, as that of one reconcile is.
func (f *failures) failure(now time.Time) (SourceFailure, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := SourceFailure{Objects: len(f.keys), Since: f.since, Err: f.err}
	whole := len(f.keys) > 1 || len(f.keys) == 1 && f.state.Load() == neverCalled
	return s, whole && !f.since.IsZero() && now.Sub(f.since) >= failingAfter
}

// outage is how the function of an outside source fails. It is in order while a call of it lasts for
// longer than the backoff remembers.
type outage struct {
	mu           sync.Mutex
	since, began time.Time // of the failures without a break, and of the call that runs; zero: none
	err          error
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
