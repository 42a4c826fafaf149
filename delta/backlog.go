package delta

import (
	"context"
	"sync"
	"time"
)

// Backlog is a BacklogCore that goroutines share: whoever pushes never blocks, and the goroutine
// of the handler waits in Next. Use NewBacklog.
type Backlog[V Value[V]] struct {
	mu     sync.Mutex
	core   BacklogCore[V]
	closed bool
	ready  signal
}

// NewBacklog returns an empty backlog.
func NewBacklog[V Value[V]]() *Backlog[V] { return &Backlog[V]{ready: newSignal()} }

// Push takes in changes, in order, all before Next can hand out the last of them; see
// BacklogCore.Push. After Close it is ignored.
func (b *Backlog[V]) Push(changes ...Change[V]) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	for _, c := range changes {
		b.core.Push(now, c)
	}
	b.ready.set()
}

// Mark puts a mark behind everything pending; see BacklogCore.Mark. After Close it is ignored.
func (b *Backlog[V]) Mark() {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.core.Mark(now)
	b.ready.set()
}

// Next waits until something is pending and hands out what has waited longest, one key at a time,
// so that what still waits goes on merging while the handler works. When ctx ends first it
// returns context.Cause(ctx); after Close, ErrClosed at once. For one consumer.
func (b *Backlog[V]) Next(ctx context.Context) (Item[V], error) {
	for {
		if ctx.Err() != nil {
			return Item[V]{}, context.Cause(ctx)
		}
		b.mu.Lock()
		item, ok := b.core.Next()
		closed := b.closed
		b.mu.Unlock()
		switch {
		case ok:
			return item, nil
		case closed:
			return Item[V]{}, ErrClosed
		}
		b.ready.wait(ctx)
	}
}

// Close ends the backlog and forgets what is pending. It may be called more than once.
func (b *Backlog[V]) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.core = BacklogCore[V]{stats: b.core.stats}
	b.ready.set()
}

// Stats counts what is pending and what was done.
func (b *Backlog[V]) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.core.Stats(time.Now())
}
