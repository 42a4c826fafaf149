// Package delta is the DeltaFIFO of this framework: a queue of the changes that one slow reader of a
// store, such as an event handler, has not taken yet. It holds one slot for each key. A reader that is
// slow, or stuck, costs memory by the number of keys, not by the number of events.
//
//	store ─Push─▶ [a: v1→v4] [b: gone, v7] [c: new, v9] ─Next─▶ handler
//	       never blocks                       one key at a time
//
// Two changes of one key merge into one: from the state that the reader took last to the newest state.
// Incarnations (UIDs) that began and ended in between are counted, and the latest are named: see
// store.Change.Unseen.
//
// The client-go queue of that name stands between the reflector and the store. Here the reflector's
// goroutine writes the store, and the queue stands behind it, once for each slow reader.
package delta

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/flyball-io/flyball/store"
)

// ErrClosed is returned by Queue.Next after Close.
var ErrClosed = errors.New("delta: queue closed")

// Item is what a queue hands out.
type Item struct {
	// Change is the merged change of one key. It has no meaning if Mark is set.
	Change store.Change
	// Mark says that everything pushed before the call of Mark has been handed out.
	Mark bool
	// Since is when the oldest change merged into this one was pushed.
	Since time.Time
}

// Stats counts what a queue holds and has done.
type Stats struct {
	// Depth is the number of slots pending now.
	Depth int
	// Oldest is how long the oldest of them has been pending; 0 when there is none.
	Oldest time.Duration
	// Pushed is the number of changes that came in.
	Pushed uint64
	// Merged is how many of them took no slot of their own.
	Merged uint64
	// Dropped is how many objects that came and went were forgotten, to keep memory bounded.
	Dropped uint64
}

// Queue holds the changes that one reader has not taken yet. Push never blocks; the reader waits in
// Next. Use New.
type Queue struct {
	mu     sync.Mutex
	core   core
	closed bool
	ready  chan struct{} // one token: something is pending, or the queue is closed
}

// New returns an empty queue.
func New() *Queue { return &Queue{ready: make(chan struct{}, 1)} }

// Push takes in a change. Changes of one key must follow each other: Old of a change is New of the one
// before. After Close a push is ignored.
func (q *Queue) Push(c store.Change) { q.do(func(now time.Time) { q.core.push(now, c) }) }

// Mark puts a mark behind everything pending. Marks are never merged or dropped. A few at a time are
// meant, such as the end of the first list.
func (q *Queue) Mark() { q.do(q.core.mark) }

func (q *Queue) do(step func(now time.Time)) {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	step(now)
	q.wake()
}

func (q *Queue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// Next waits until something is pending, and hands out what has waited longest, one key at a time. What
// still waits goes on merging. When ctx ends first Next returns context.Cause(ctx); after Close,
// ErrClosed. It is for one goroutine.
func (q *Queue) Next(ctx context.Context) (Item, error) {
	for {
		if ctx.Err() != nil {
			return Item{}, context.Cause(ctx)
		}
		q.mu.Lock()
		item, ok := q.core.next()
		closed := q.closed
		q.mu.Unlock()
		switch {
		case ok:
			return item, nil
		case closed:
			return Item{}, ErrClosed
		}
		select {
		case <-q.ready:
		case <-ctx.Done():
		}
	}
}

// Close ends the queue and forgets what is pending. It may be called more than once.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.core = core{stats: q.core.stats}
	q.wake()
}

// Stats counts what is pending and what was done.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.core.figures(time.Now())
}
