// Package ahead computes values of a sequence before the loop that reads them asks for them:
//
//	seq ──► Map ──► goroutines call f ──► results, in the order of seq
package ahead

import (
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flyball-io/flyball/run"
)

const (
	alone    = 16      // values computed one by one, at the start
	most     = 64      // values held at once
	maxBytes = 1 << 20 // bytes of values held at once
	share    = 8       // waiting values that are worth the start of one more goroutine

	patience    = time.Millisecond // longest time that a loop may wait for a helper
	pauseFactor = 100              // after a longer wait, helpers pause for this many times that wait
)

// Map yields f of each value of seq, in order, and computes some of them ahead. The first sixteen
// are computed one by one. After these, Map holds twice as many values as it has yielded, at most
// 64 and at most 1 MiB by their size.
//
// The goroutine of the loop computes the next value. Helper goroutines, one for each further
// processor and at most seven, compute the values after it. With one processor there are none. If
// no processor is idle, helpers find nothing to do. If the loop waits for a helper for more than a
// millisecond, because the system took its processor, helpers pause for a hundred times that wait.
// That bounds the cost to a hundredth of the time.
//
// f must be safe for concurrent use and must only compute: a loop that ends early waits for the
// calls of f that have begun. All helpers have ended when the loop ends. seq runs in the goroutine
// of the loop. If f panics, the loop panics at that value's position: with the value of the panic,
// or with a *run.PanicError.
func Map[V, R any](seq iter.Seq[V], size func(V) int, f func(V) (R, error)) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		first := 0
		var w *window[V, R]
		for v := range seq {
			if first < alone {
				if first++; !yield(f(v)) {
					return
				}
				continue
			}
			if w == nil {
				w = newWindow(f)
				defer w.close()
			}
			bytes := size(v)
			for !w.room(bytes) {
				if !w.emit(yield) {
					return
				}
			}
			w.push(v, bytes)
		}
		for w != nil && w.held() > 0 {
			if !w.emit(yield) {
				return
			}
		}
	}
}

// window is a ring of the values that are held. Fields that are not atomic belong to the loop. A
// slot belongs to the goroutine that took it until its done is set.
type window[V, R any] struct {
	f       func(V) (R, error)
	slots   [most]slot[V, R]
	bytes   int
	yielded int64
	pushed  atomic.Int64
	claimed atomic.Int64 // taken to be computed; those from here to pushed wait

	maxHelpers int32 // number of helpers allowed
	helpers    sync.WaitGroup
	running    atomic.Int32
	starting   atomic.Bool   // a helper was started and does not run yet
	awaited    atomic.Bool   // the loop waits for a value that a helper computes
	wake       chan struct{} // capacity 1
}

type slot[V, R any] struct {
	value    V
	bytes    int
	result   R
	err      error
	panicked error
	done     atomic.Bool
}

func newWindow[V, R any](f func(V) (R, error)) *window[V, R] {
	maxHelpers := min(runtime.GOMAXPROCS(0), most/share) - 1
	if until := pausedUntil.Load(); until != 0 && int64(time.Since(epoch)) < until {
		maxHelpers = 0
	}
	return &window[V, R]{f: f, maxHelpers: int32(maxHelpers), wake: make(chan struct{}, 1)}
}

// pausedUntil is the end of the pause of helpers, in nanoseconds since epoch. 0 means no
// pause. It is global: all loops share the processors.
var (
	pausedUntil atomic.Int64
	epoch       = time.Now()
)

// waitForHelpers calls wait, and pauses helpers if that took long.
func waitForHelpers(wait func()) {
	began := time.Now()
	wait()
	if waited := time.Since(began); waited > patience {
		pausedUntil.Store(int64(time.Since(epoch) + pauseFactor*waited))
	}
}

func (w *window[V, R]) at(i int64) *slot[V, R] { return &w.slots[i%most] }

func (w *window[V, R]) held() int64 { return w.pushed.Load() - w.yielded }

// room reports whether one more value may be held.
func (w *window[V, R]) room(bytes int) bool {
	held := w.held()
	return held == 0 || held < min(2*(alone+w.yielded), most) && w.bytes+bytes <= maxBytes
}

// push adds a value. It starts a helper if many values wait. It starts one at a time, so that with
// no idle processor only one helper waits for one.
func (w *window[V, R]) push(v V, bytes int) {
	n := w.pushed.Load()
	p := w.at(n)
	p.value, p.bytes = v, bytes
	w.bytes += bytes
	w.pushed.Store(n + 1)
	if n+1-w.claimed.Load() >= share && w.running.Load() < w.maxHelpers && !w.starting.Load() {
		w.starting.Store(true)
		w.running.Add(1)
		w.helpers.Go(w.help)
	}
}

func (w *window[V, R]) help() {
	defer w.running.Add(-1)
	w.starting.Store(false)
	for w.work() {
		continue
	}
}

// work computes the next waiting value. It reports false if there is none.
func (w *window[V, R]) work() bool {
	for {
		i := w.claimed.Load()
		if i >= w.pushed.Load() {
			return false
		}
		if w.claimed.CompareAndSwap(i, i+1) {
			w.compute(w.at(i))
			return true
		}
	}
}

func (w *window[V, R]) compute(p *slot[V, R]) {
	defer func() {
		p.done.Store(true)
		if w.awaited.Swap(false) {
			select {
			case w.wake <- struct{}{}:
			default: // the loop has not received the last one
			}
		}
	}()
	p.panicked = run.ErrGoexit
	p.panicked = run.Safely("", func() error {
		p.result, p.err = w.f(p.value)
		return nil
	})
}

// emit yields the first value held. While a helper computes it, the loop computes others.
func (w *window[V, R]) emit(yield func(R, error) bool) bool {
	p := w.at(w.yielded)
	for !p.done.Load() {
		if w.work() {
			continue
		}
		if w.awaited.Store(true); !p.done.Load() {
			waitForHelpers(func() { <-w.wake })
		}
	}
	result, err, panicked := p.result, p.err, p.panicked
	w.bytes -= p.bytes
	var none slot[V, R]
	p.value, p.result, p.err = none.value, none.result, none.err
	p.done.Store(false)
	w.yielded++
	if panicked != nil {
		panic(panicked)
	}
	return yield(result, err)
}

// close waits for the helpers to end. Values that wait are not computed.
func (w *window[V, R]) close() {
	w.claimed.Store(w.pushed.Load())
	if w.running.Load() > 0 {
		waitForHelpers(w.helpers.Wait)
	}
	w.helpers.Wait()
}
