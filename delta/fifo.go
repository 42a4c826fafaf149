package delta

import (
	"context"
	"sync"
	"time"

	"github.com/flyball-io/flyball/object"
)

// FIFO is a Core that goroutines share: whoever pushes never blocks, and one consumer waits in
// TakeAll. Use NewFIFO.
type FIFO[V Value] struct {
	mu     sync.Mutex
	core   Core[V]
	woken  bool
	closed bool
	ready  signal
	taken  signal
}

// NewFIFO returns an empty queue.
func NewFIFO[V Value]() *FIFO[V] { return &FIFO[V]{ready: newSignal(), taken: newSignal()} }

// Push takes in one change; see Core.Push. After Close it is ignored, as are the other pushes.
func (f *FIFO[V]) Push(t Type, v V) {
	f.do(func(now time.Time) { f.core.Push(now, t, v) })
}

// Sync asks for another look at key; see Core.Sync.
func (f *FIFO[V]) Sync(key object.Key) {
	f.do(func(now time.Time) { f.core.Sync(now, key) })
}

// BeginReplace opens a relist; see Core.BeginReplace.
func (f *FIFO[V]) BeginReplace(reset bool) {
	f.do(func(now time.Time) { f.core.BeginReplace(now, reset) })
}

// EndReplace closes the open relist as whole; see Core.EndReplace.
func (f *FIFO[V]) EndReplace(version string) {
	f.do(func(now time.Time) { f.core.EndReplace(now, version) })
}

// AbortReplace gives up the open relist; see Core.AbortReplace.
func (f *FIFO[V]) AbortReplace() {
	f.do(func(now time.Time) { f.core.AbortReplace(now) })
}

// Wake makes the waiting TakeAll, or the next one, return even if nothing is pending.
func (f *FIFO[V]) Wake() {
	f.do(func(time.Time) { f.woken = true })
}

func (f *FIFO[V]) do(push func(now time.Time)) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	push(now)
	f.ready.set()
}

// TakeAll waits until something is pending, or Wake was called, and hands out all of it, in
// order; the slice is the caller's. When ctx ends first it returns context.Cause(ctx). When the
// queue was closed and everything was handed out it returns ErrClosed. For one consumer.
func (f *FIFO[V]) TakeAll(ctx context.Context) ([]Delta[V], error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		f.mu.Lock()
		out, woken, closed := f.core.TakeAll(), f.woken, f.closed
		f.woken = false
		f.taken.set()
		f.mu.Unlock()
		switch {
		case len(out) > 0 || woken:
			return out, nil
		case closed:
			return nil, ErrClosed
		}
		f.ready.wait(ctx)
	}
}

// Room waits until less than n slots are pending, the queue is closed, or ctx ends. Pushes never wait:
// it is for one who has a long list at hand and need not go on with it before the first part was
// taken. For one goroutine.
func (f *FIFO[V]) Room(ctx context.Context, n int) {
	for ctx.Err() == nil {
		f.mu.Lock()
		room := f.closed || len(f.core.pending) < n
		f.mu.Unlock()
		if room {
			return
		}
		f.taken.wait(ctx)
	}
}

// Close ends the queue: further pushes are ignored, what is pending is still handed out. It may
// be called more than once.
func (f *FIFO[V]) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.ready.set()
	f.taken.set()
}

// Stats counts what is pending and what was done.
func (f *FIFO[V]) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.core.Stats(time.Now())
}

// signal is a flag that one goroutine waits for and any goroutine sets without blocking.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

func (s signal) set() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// wait returns when the signal is set, and takes it down, or when ctx ends.
func (s signal) wait(ctx context.Context) {
	select {
	case <-s:
	case <-ctx.Done():
	}
}
