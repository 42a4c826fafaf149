// Package overdue reports calls of users' functions that take too long, while they still run.
package overdue

import (
	"sync"
	"time"
)

// After is how long most calls may take before they are reported.
const After = time.Second

// Watch observes calls that are made one after another. It costs some tens of nanoseconds a call. A
// timer runs only while calls are made. Use New.
type Watch[T any] struct {
	after  time.Duration
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

// New returns a Watch. report is called once for each call that has run for the time of after, on a
// goroutine of its own.
func New[T any](after time.Duration, report func(call T, began time.Time)) *Watch[T] {
	return &Watch[T]{after: after, report: report}
}

// Begin marks the start of a call. The previous call has ended.
func (w *Watch[T]) Begin(call T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.call, w.began, w.reported, w.called = call, time.Now(), false, true
	if !w.armed && !w.stopped {
		w.arm(w.after)
	}
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
	w.call, w.began = *new(T), time.Time{}
}

// Running returns the current call and its start. It reports false if no call runs.
func (w *Watch[T]) Running() (call T, began time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.call, w.began, !w.began.IsZero()
}

// Overdue is Running for a call that has run for so long that it is reported.
func (w *Watch[T]) Overdue() (call T, began time.Time, ok bool) {
	call, began, ok = w.Running()
	return call, began, ok && time.Since(began) >= w.after
}

// Stop ends the timer. A report that runs goes on.
func (w *Watch[T]) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if w.timer != nil {
		w.timer.Stop()
	}
}

// onTimer reports the call that has run for too long, if there is one. It resets the timer while calls are made.
func (w *Watch[T]) onTimer() {
	w.mu.Lock()
	w.armed = false
	call, began := w.call, w.began
	runs, left := !began.IsZero() && !w.reported, w.after-time.Since(began)
	due := runs && left <= 0 && !w.stopped
	switch {
	case w.stopped:
	case due:
		w.reported = true
	case runs:
		w.arm(left)
	case w.called:
		w.arm(w.after)
	}
	w.mu.Unlock()
	if due {
		w.report(call, began)
	}
}
