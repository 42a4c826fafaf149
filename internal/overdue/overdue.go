// Package overdue reports calls of users' functions that take too long, while they still run.
package overdue

import (
	"sync"
	"time"
)

// After is how long a call may take before it is reported.
const After = time.Second

// Watch observes calls that are made one after another. It costs some tens of nanoseconds a call. A
// timer runs only while calls are made. Use New.
type Watch[T any] struct {
	report func(call T, began time.Time)

	mu       sync.Mutex
	call     T
	began    time.Time // zero: no call runs
	reported bool
	called   bool // a call began since the timer was set
	armed    bool
	stopped  bool
	timer    *time.Timer
}

// New returns a Watch. report is called once for each call that has run for After, on a goroutine of
// its own.
func New[T any](report func(call T, began time.Time)) *Watch[T] { return &Watch[T]{report: report} }

// Begin marks the start of a call. The previous call has ended.
func (w *Watch[T]) Begin(call T) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.call, w.began, w.reported, w.called = call, now, false, true
	if w.armed || w.stopped {
		return
	}
	w.arm(After)
}

func (w *Watch[T]) arm(d time.Duration) {
	w.armed, w.called = true, false
	if w.timer == nil {
		w.timer = time.AfterFunc(d, w.onTimer)
		return
	}
	w.timer.Reset(d)
}

// End marks the end of the call.
func (w *Watch[T]) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	var none T
	w.call, w.began = none, time.Time{}
}

// Overdue returns the current call and its start if it has run for After.
func (w *Watch[T]) Overdue() (call T, began time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.call, w.began, !w.began.IsZero() && time.Since(w.began) >= After
}

// Stop ends the timer.
func (w *Watch[T]) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if w.timer != nil {
		w.timer.Stop()
	}
}

// onTimer is called by the timer.
func (w *Watch[T]) onTimer() {
	call, began, ok := w.overdue(time.Now())
	if ok {
		w.report(call, began)
	}
}

// overdue returns the call to report, if there is one. It resets the timer while calls are made.
func (w *Watch[T]) overdue(now time.Time) (call T, began time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = false
	if w.stopped {
		return call, began, false
	}
	runs := !w.began.IsZero() && !w.reported
	if left := After - now.Sub(w.began); runs && left <= 0 {
		w.reported = true
		return w.call, w.began, true
	} else if runs {
		w.arm(left)
	} else if w.called {
		w.arm(After)
	}
	return call, began, false
}
