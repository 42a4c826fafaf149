package run

import (
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	aheadAlone = 16      // values that are computed one by one, at the start
	aheadMost  = 64      // values that are held at once
	aheadBytes = 1 << 20 // of values that are held at once
	aheadShare = 8       // values that wait for which one more goroutine is worth its start

	aheadPatience = time.Millisecond // how long a loop may have to wait for a helper
	aheadPause    = 100              // how many times what it waited there are no helpers then
)

// Ahead yields what f makes of each value of seq, in their order. The first sixteen are computed when
// their turn comes. After these some are computed ahead: as many as twice those that were yielded, at
// most 64 and at most 1 MiB of them, by what size says of each. The goroutine of the loop computes
// what it needs next; others, one for each further processor and at most seven, take what follows.
// Where no processor is idle they find nothing left to do, and with one processor there are none.
// Where the system takes the processor from one, so that a loop has to wait for it for more than a
// millisecond, there are none for a hundred times as long: that costs a hundredth of the time at most.
//
// f must be for several goroutines, and only compute: a loop that is left waits for what has begun.
// No goroutine of it is left when the loop ends. seq runs in the goroutine of the loop. If f panics
// the loop does when the turn of that value comes: with what f gave, or with a *PanicError.
func Ahead[V, R any](seq iter.Seq[V], size func(V) int, f func(V) (R, error)) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		alone := 0
		var w *window[V, R]
		for v := range seq {
			if alone < aheadAlone {
				if alone++; !yield(f(v)) {
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

// window are the values that are held: a ring. What is not atomic is the loop's, and a place's that of
// whoever took it until it is done.
type window[V, R any] struct {
	f       func(V) (R, error)
	places  [aheadMost]place[V, R]
	bytes   int
	yielded int64
	pushed  atomic.Int64
	taken   atomic.Int64 // to be computed; what lies before pushed waits

	most    int32 // helpers
	helpers sync.WaitGroup
	running atomic.Int32
	called  atomic.Bool   // a helper was started that does not run yet
	awaited atomic.Bool   // the loop waits for what somebody computes
	wake    chan struct{} // has room for one
}

type place[V, R any] struct {
	value    V
	bytes    int
	made     R
	err      error
	panicked error
	done     atomic.Bool
}

func newWindow[V, R any](f func(V) (R, error)) *window[V, R] {
	most := min(runtime.GOMAXPROCS(0), aheadMost/aheadShare) - 1
	if until := aheadPaused.Load(); until != 0 && int64(time.Since(aheadBegan)) < until {
		most = 0
	}
	return &window[V, R]{f: f, most: int32(most), wake: make(chan struct{}, 1)}
}

// aheadPaused is until when there are no helpers, in nanoseconds since aheadBegan; 0: there are. That
// the machine has no processor to spare is the same for all loops.
var (
	aheadPaused atomic.Int64
	aheadBegan  = time.Now()
)

// waiting waits for helpers, and pauses them if that was long.
func waiting(wait func()) {
	began := time.Now()
	wait()
	if waited := time.Since(began); waited > aheadPatience {
		aheadPaused.Store(int64(time.Since(aheadBegan) + aheadPause*waited))
	}
}

func (w *window[V, R]) at(i int64) *place[V, R] { return &w.places[i%aheadMost] }

func (w *window[V, R]) held() int64 { return w.pushed.Load() - w.yielded }

// room reports whether one more may be held.
func (w *window[V, R]) room(bytes int) bool {
	held := w.held()
	return held == 0 || held < min(2*(aheadAlone+w.yielded), aheadMost) && w.bytes+bytes <= aheadBytes
}

// push adds a value, and calls a helper if many wait: one at a time, so that where no processor is
// idle there is one that waits for it.
func (w *window[V, R]) push(v V, bytes int) {
	n := w.pushed.Load()
	p := w.at(n)
	p.value, p.bytes = v, bytes
	w.bytes += bytes
	w.pushed.Store(n + 1)
	if n+1-w.taken.Load() >= aheadShare && w.running.Load() < w.most && !w.called.Load() {
		w.called.Store(true)
		w.running.Add(1)
		w.helpers.Go(w.help)
	}
}

func (w *window[V, R]) help() {
	defer w.running.Add(-1)
	w.called.Store(false)
	for w.work() {
		continue
	}
}

// work computes the next value that waits. False: there is none.
func (w *window[V, R]) work() bool {
	for {
		i := w.taken.Load()
		if i >= w.pushed.Load() {
			return false
		}
		if w.taken.CompareAndSwap(i, i+1) {
			w.compute(w.at(i))
			return true
		}
	}
}

func (w *window[V, R]) compute(p *place[V, R]) {
	defer func() {
		p.done.Store(true)
		if w.awaited.Swap(false) {
			select {
			case w.wake <- struct{}{}:
			default: // it has not looked since the last one
			}
		}
	}()
	p.panicked = ErrGoexit
	p.panicked = Safely("", func() error {
		p.made, p.err = w.f(p.value)
		return nil
	})
}

// emit yields what was made of the first value held. While a helper computes it the loop computes
// others.
func (w *window[V, R]) emit(yield func(R, error) bool) bool {
	p := w.at(w.yielded)
	for !p.done.Load() {
		if w.work() {
			continue
		}
		if w.awaited.Store(true); !p.done.Load() {
			waiting(func() { <-w.wake })
		}
	}
	made, err, panicked := p.made, p.err, p.panicked
	w.bytes -= p.bytes
	var none place[V, R]
	p.value, p.made, p.err = none.value, none.made, none.err
	p.done.Store(false)
	w.yielded++
	if panicked != nil {
		panic(panicked)
	}
	return yield(made, err)
}

// close waits until no helper runs; what waits is not computed any more.
func (w *window[V, R]) close() {
	w.taken.Store(w.pushed.Load())
	if w.running.Load() > 0 {
		waiting(w.helpers.Wait)
	}
	w.helpers.Wait()
}
