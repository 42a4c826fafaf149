package workqueue

import (
	"context"
	"sync"
	"time"
)

// Queue is a Core that many goroutines may use: producers that add, workers that loop
//
//	for item, ok := q.Get(ctx); ok; item, ok = q.Next(ctx, item.Key) {
//		if err := work(item.Key); err != nil {
//			q.Retry(item)
//		} else {
//			q.Forget(item.Key)
//		}
//	}
//
// Only Get, Next and ShutDownWithDrain block.
type Queue[K comparable, V any] struct {
	start time.Time // the epoch of core

	mu      sync.Mutex
	core    *Core[K, V]
	parked  []*waiter[K, V]
	spare   []*waiter[K, V]
	timer   *time.Timer // for the next delayed item, while Get calls are parked; made by the first
	armed   int64       // what timer is set to; zero for nothing
	drained chan struct{}
}

// waiter is one parked Get. Whoever takes it off Queue.parked fills it and signals ready.
type waiter[K comparable, V any] struct {
	ready chan struct{} // capacity 1
	index int           // in Queue.parked; -1 once taken off
	item  Item[K, V]
	ok    bool
}

// New returns an empty queue, or an *option.Error. It starts nothing.
func New[K comparable, V any](opts Options[K, V]) (*Queue[K, V], error) {
	core, err := NewCore(opts)
	if err != nil {
		return nil, err
	}
	q := &Queue[K, V]{start: time.Now(), core: core, drained: make(chan struct{})}
	core.since(q.start)
	return q, nil
}

// Add queues key now, with priority 0 and the zero value of V.
func (q *Queue[K, V]) Add(key K) { q.AddWith(key, AddOptions[V]{}) }

// AddWith queues key as o says. After ShutDown it does nothing.
func (q *Queue[K, V]) AddWith(key K, o AddOptions[V]) {
	t := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.core.add(key, o, t)
	if len(q.parked) > 0 {
		q.serve(t)
	}
}

// AddAll does AddWith for one after the other, but takes the lock and reads the clock once for all:
// meant for hundreds, not for millions, since nobody else gets at the queue meanwhile. adds stays
// the caller's.
func (q *Queue[K, V]) AddAll(adds []Add[K, V]) {
	t := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range adds {
		q.core.add(adds[i].Key, adds[i].AddOptions, t)
	}
	if len(q.parked) > 0 {
		q.serve(t)
	}
}

// Retry queues an item again after its backoff, with the priority and the value it had. Call it
// between Get and Done.
func (q *Queue[K, V]) Retry(item Item[K, V]) {
	q.AddWith(item.Key, AddOptions[V]{Priority: item.Priority, RateLimited: true, Value: item.Value})
}

// Get blocks until an item is ready and hands it out; the caller owes a Done for its key. It
// reports false when ctx has ended (then ctx.Err is not nil) or when the queue is shut down and
// nothing is ready.
func (q *Queue[K, V]) Get(ctx context.Context) (item Item[K, V], ok bool) {
	if ctx.Err() != nil {
		return item, false
	}
	w, tick, ok := q.getOrPark(&item)
	if w == nil {
		return item, ok
	}
	return q.wait(ctx, w, tick)
}

// Next is Done of a key and then Get, in one step: what a worker does between two items. If ctx has
// ended it is Done only.
func (q *Queue[K, V]) Next(ctx context.Context, done K) (item Item[K, V], ok bool) {
	if ctx.Err() != nil {
		q.Done(done)
		return item, false
	}
	w, tick, ok := q.nextOrPark(done, &item)
	if w == nil {
		return item, ok
	}
	return q.wait(ctx, w, tick)
}

// wait is the rest of a Get that has parked.
func (q *Queue[K, V]) wait(ctx context.Context, w *waiter[K, V], tick <-chan time.Time) (Item[K, V], bool) {
	for {
		select {
		case <-w.ready:
			return q.unpark(w)
		case <-tick:
			q.ticked()
		case <-ctx.Done():
			return q.unpark(w)
		}
	}
}

// Done says that the work on key has ended. If the key was added meanwhile it is ready again.
// Done of a key that is not in flight does nothing.
func (q *Queue[K, V]) Done(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.core.settle()
	n := q.core.working(key)
	if n == 0 {
		return
	}
	if q.core.timeless(n) { // reading the clock is a good part of what Done costs
		q.core.done(n, 0)
		q.checkDrained()
		return
	}
	t := q.now()
	q.core.done(n, t)
	q.serve(t)
}

// Forget clears what the rate limiter knows of key. What is queued stays queued.
func (q *Queue[K, V]) Forget(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.core.Forget(key)
}

// NumRequeues is how many failures the rate limiter has counted for key since Forget.
func (q *Queue[K, V]) NumRequeues(key K) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.core.NumRequeues(key)
}

// Len is the number of items that are ready: what is delayed or in flight is not in it.
func (q *Queue[K, V]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.core.Len(q.core.at(q.now()))
}

// Stats returns counters and gauges as of now, in constant time.
func (q *Queue[K, V]) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.core.Stats(q.core.at(q.now()))
}

// Depths is [Stats].Depth by priority; see [Core.Depths].
func (q *Queue[K, V]) Depths() []Depth {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.core.Depths(q.core.at(q.now()))
}

// ShutDown ends all adding, drops what is delayed and releases the parked Get calls. What is
// ready, or was added while in flight, is still handed out to those who call Get. It does not
// wait, and may be called again and beside ShutDownWithDrain.
func (q *Queue[K, V]) ShutDown() {
	t := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.core.ShutDown(q.core.at(t))
	q.serve(t)
}

// ShutDownWithDrain does as ShutDown and then waits until nothing is ready or in flight: workers
// must go on with Get until it reports false, and with Done. When ctx ends first it returns its
// cause, and the queue stays shut down.
func (q *Queue[K, V]) ShutDownWithDrain(ctx context.Context) error {
	q.ShutDown()
	select {
	case <-q.drained:
		return nil
	default:
	}
	select {
	case <-q.drained:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ShuttingDown reports whether ShutDown or ShutDownWithDrain was called.
func (q *Queue[K, V]) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.core.ShuttingDown()
}

// now is in nanoseconds since start, by the monotonic clock. Mostly it is asked before the lock is
// taken, for others wait behind that; the core lets a time older than its latest count as that.
func (q *Queue[K, V]) now() int64 { return int64(time.Since(q.start)) }

// serve follows every change: it hands what is ready to parked calls, releases all of them after
// ShutDown, and sets the timer for those that stay. The lock is held.
func (q *Queue[K, V]) serve(t int64) {
	for len(q.parked) > 0 {
		w := q.parked[len(q.parked)-1]
		if w.ok = q.core.get(t, &w.item); !w.ok && !q.core.ShuttingDown() {
			q.arm()
			break
		}
		q.takeOff(w)
		w.ready <- struct{}{}
	}
	q.checkDrained()
}

// checkDrained ends the wait of ShutDownWithDrain when there is nothing left. The lock is held.
func (q *Queue[K, V]) checkDrained() {
	if !q.core.Drained() {
		return
	}
	select {
	case <-q.drained:
	default:
		close(q.drained)
	}
}

// getOrPark is what Get can answer at once, or else a waiter and the channel of the timer.
func (q *Queue[K, V]) getOrPark(item *Item[K, V]) (w *waiter[K, V], tick <-chan time.Time, ok bool) {
	t := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.takeOrPark(t, item)
}

// nextOrPark is getOrPark after Done.
func (q *Queue[K, V]) nextOrPark(done K, item *Item[K, V]) (w *waiter[K, V], tick <-chan time.Time, ok bool) {
	t := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.core.settle()
	if n := q.core.working(done); n != 0 {
		q.core.done(n, t)
	}
	if w, tick, ok = q.takeOrPark(t, item); w == nil {
		q.serve(t) // what is left may be for others
	}
	return w, tick, ok
}

// takeOrPark is getOrPark at t. The lock is held.
func (q *Queue[K, V]) takeOrPark(t int64, item *Item[K, V]) (w *waiter[K, V], tick <-chan time.Time, ok bool) {
	if ok = q.core.get(t, item); ok || q.core.ShuttingDown() {
		return nil, nil, ok
	}
	if n := len(q.spare); n > 0 {
		w, q.spare[n-1] = q.spare[n-1], nil
		q.spare = q.spare[:n-1]
	} else {
		w = &waiter[K, V]{ready: make(chan struct{}, 1)}
	}
	w.index = len(q.parked)
	q.parked = append(q.parked, w)
	if q.timer == nil {
		q.timer = time.NewTimer(time.Hour)
		q.timer.Stop()
	}
	q.arm()
	return w, q.timer.C, false
}

// ticked follows a tick of the timer. It reaches one parked call, which serves all of them.
func (q *Queue[K, V]) ticked() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.armed = 0
	q.serve(q.now())
}

// unpark ends the wait of w and returns what it was given, which is nothing if its caller gave up.
func (q *Queue[K, V]) unpark(w *waiter[K, V]) (Item[K, V], bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.index >= 0 {
		q.takeOff(w)
	}
	select {
	case <-w.ready: // served just as its caller gave up: the item must not be lost
	default:
	}
	item, ok := w.item, w.ok
	w.item, w.ok = Item[K, V]{}, false
	q.spare = append(q.spare, w)
	return item, ok
}

// takeOff removes w from the parked ones. The lock is held.
func (q *Queue[K, V]) takeOff(w *waiter[K, V]) {
	last := len(q.parked) - 1
	moved := q.parked[last]
	q.parked[w.index], moved.index = moved, w.index
	q.parked[last] = nil
	q.parked = q.parked[:last]
	w.index = -1
}

// arm sets the timer to the next delayed item. The lock is held.
func (q *Queue[K, V]) arm() {
	if due, ok := q.core.nextDue(); ok && due != q.armed {
		q.armed = due
		q.timer.Reset(time.Duration(due - q.core.latest))
	}
}
