package delta

import (
	"context"
	"sync"
	"time"

	"github.com/flyball-io/flyball/object"
)

// FIFO is a Core that goroutines share. Whoever pushes never blocks, and wakes nobody: when what was
// pushed is to be taken he takes it, or calls Wake for the consumer who waits in Wait. Use NewFIFO.
type FIFO[V Value[V]] struct {
	mu     sync.Mutex
	core   Core[V]
	woken  bool
	closed bool
	ready  signal
	taken  signal
}

// NewFIFO returns an empty queue.
func NewFIFO[V Value[V]]() *FIFO[V] { return &FIFO[V]{ready: newSignal(), taken: newSignal()} }

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

// Wake makes the waiting Wait, or the next one, return, whether anything is pending or not.
func (f *FIFO[V]) Wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.woken = true
	f.ready.set()
}

func (f *FIFO[V]) do(push func(now time.Time)) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	push(now)
}

// Wait returns nil when Wake was called since the last Wait, or when the queue was closed and something
// is pending. When ctx ends first it returns context.Cause(ctx). When the queue was closed and
// everything was taken it returns ErrClosed. For one consumer.
func (f *FIFO[V]) Wait(ctx context.Context) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f.mu.Lock()
		closed := f.closed
		some := f.woken || closed && len(f.core.pending) > 0
		f.woken = false
		f.mu.Unlock()
		switch {
		case some:
			return nil
		case closed:
			return ErrClosed
		}
		f.ready.wait(ctx)
	}
}

// TakeAll hands out everything pending, in order; see Core.TakeAll.
func (f *FIFO[V]) TakeAll(room []Delta[V]) []Delta[V] {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.core.TakeAll(room)
	f.taken.set()
	return out
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
