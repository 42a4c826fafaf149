// Package overdue names calls of users' functions that take too long, while they run.
package overdue

import (
	"sync"
	"time"
)

// After is how long a call may take before it is named.
const After = time.Second

// Watch looks after calls that are made one after another. It costs some tens of nanoseconds for each;
// a timer runs only while calls are made. Use New.
type Watch[T any] struct {
	tell func(call T, began time.Time)

	mu      sync.Mutex
	call    T
	began   time.Time // zero: no call runs
	told    bool
	made    bool // a call began since the timer was set
	armed   bool
	stopped bool
	timer   *time.Timer
}

// New returns a Watch that calls tell, on a goroutine of its own, once for each call that has run for
// as long as After.
func New[T any](tell func(call T, began time.Time)) *Watch[T] { return &Watch[T]{tell: tell} }

// Begin says that a call begins. The one before has ended.
func (w *Watch[T]) Begin(call T) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.call, w.began, w.told, w.made = call, now, false, true
	if w.armed || w.stopped {
		return
	}
	w.arm(After)
}

func (w *Watch[T]) arm(d time.Duration) {
	w.armed, w.made = true, false
	if w.timer == nil {
		w.timer = time.AfterFunc(d, w.look)
		return
	}
	w.timer.Reset(d)
}

// End says that the call has ended.
func (w *Watch[T]) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	var none T
	w.call, w.began = none, time.Time{}
}

// Running is the call that runs, and since when; false if there is none.
func (w *Watch[T]) Running() (call T, began time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.call, w.began, !w.began.IsZero()
}

// Overdue is the call that runs, if it has done so for as long as After.
func (w *Watch[T]) Overdue() (call T, began time.Time, ok bool) {
	call, began, ok = w.Running()
	return call, began, ok && time.Since(began) >= After
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

// look is called by the timer.
func (w *Watch[T]) look() {
	call, began, tell := w.overdue(time.Now())
	if tell {
		w.tell(call, began)
	}
}

// overdue is the call to be told of, if there is one. It sets the timer again while calls are made.
func (w *Watch[T]) overdue(now time.Time) (call T, began time.Time, tell bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = false
	if w.stopped {
		return call, began, false
	}
	runs := !w.began.IsZero() && !w.told
	if left := After - now.Sub(w.began); runs && left <= 0 {
		w.told = true
		return w.call, w.began, true
	} else if runs {
		w.arm(left)
	} else if w.made {
		w.arm(After)
	}
	return call, began, false
}
