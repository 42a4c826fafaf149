package workqueue

import (
	"context"
	"sync"
	"time"
)

// Queue hands keys to workers. Producers add keys; workers loop:
//
//	for item, ok := q.Get(ctx); ok; item, ok = q.Next(ctx, item.Key) {
//		if err := work(item.Key); err != nil {
//			q.Retry(item)
//		} else {
//			q.Forget(item.Key)
//		}
//	}
//
// Only Get, Next and ShutDownWithDrain block. Any goroutine may call any method.
type Queue[K comparable, V any] struct {
	mu          sync.Mutex
	core        *core[K, V]
	parked      []*waiter[K, V]
	freeWaiters []*waiter[K, V]
	timer       *time.Timer // fires at the next due time, while Get calls are parked; made by the first of them
	armed       int64       // due time that timer is set to; zero means none
	drained     chan struct{}
}

// waiter is one parked Get. The goroutine that removes it from Queue.parked fills it and signals
// ready.
type waiter[K comparable, V any] struct {
	ready chan struct{} // capacity 1
	index int           // in Queue.parked; -1 once removed
	item  Item[K, V]
	ok    bool
}

// New returns an empty queue, or an *option.Error. It starts no goroutine.
func New[K comparable, V any](opts Options[K, V]) (*Queue[K, V], error) {
	core, err := newCore(opts, time.Now())
	if err != nil {
		return nil, err
	}
	return &Queue[K, V]{core: core, drained: make(chan struct{})}, nil
}

// Add queues key now, with priority 0 and the zero value of V.
func (q *Queue[K, V]) Add(key K) { q.AddWith(key, AddOptions[V]{}) }

// AddWith queues key as o says. It returns the delay of the add; an earlier one of the key stands.
// After ShutDown it does nothing.
func (q *Queue[K, V]) AddWith(key K, o AddOptions[V]) time.Duration {
	t := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	delay := q.core.add(key, o, t)
	if len(q.parked) > 0 {
		q.serve(t)
	}
	return delay
}

// AddAll calls AddWith for each of adds, with one lock and one reading of the clock. It blocks all
// other calls until it ends: use it for hundreds of keys, not for millions. The caller keeps adds.
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

// Retry queues an item again after its backoff, with its priority and its value. Call it between
// Get and Done.
func (q *Queue[K, V]) Retry(item Item[K, V]) {
	q.AddWith(item.Key, AddOptions[V]{Priority: item.Priority, RateLimited: true, Value: item.Value})
}

// Get blocks until an item is ready and hands it out. The caller must call Done, or Next, with its
// key. Get reports false in two cases: ctx has ended (then ctx.Err is not nil), or the queue is
// shut down and nothing is ready.
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

// Next is Done of a key and then Get, in one step. A worker calls it between two items. If ctx has
// ended, it is Done only.
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

// wait blocks a parked Get until it is served or ctx ends.
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

// Done ends the work on key. If the key was added since Get, it is ready again. Done of a key that
// is not in flight does nothing.
func (q *Queue[K, V]) Done(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.core.findInFlight(key)
	if n == 0 {
		return
	}
	if q.core.needsNoClock(n) { // reading the clock is a good part of the cost of Done
		q.core.done(n, 0)
		q.checkDrained()
		return
	}
	t := q.now()
	q.core.done(n, t)
	q.serve(t)
}

// Forget clears the failures that the rate limiter has counted for key. A pending add stays.
func (q *Queue[K, V]) Forget(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.core.forget(key)
}

// NumRequeues returns the failures that the rate limiter has counted for key since Forget.
func (q *Queue[K, V]) NumRequeues(key K) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.core.opts.RateLimiter.NumRequeues(key)
}

// Len returns the number of ready items. It does not count delayed items nor those in flight.
func (q *Queue[K, V]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.core.len(q.now())
}

// Stats returns counters and gauges as of now. It takes constant time.
func (q *Queue[K, V]) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.core.stats(q.now())
}

// Depths returns [Stats].Depth by priority, highest first. It leaves out priorities without keys.
func (q *Queue[K, V]) Depths() []Depth {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.core.depths(q.now())
}

// ShutDown rejects all further adds, drops delayed items and releases the parked Get calls. Items
// that are ready, or were added while in flight, are still handed out by Get. ShutDown does not
// wait. It may be called again, and beside ShutDownWithDrain.
func (q *Queue[K, V]) ShutDown() {
	t := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.core.shutDown(t)
	q.serve(t)
}

// ShutDownWithDrain calls ShutDown and waits until nothing is ready or in flight. Workers must
// continue to call Get until it reports false, and Done. If ctx ends first, ShutDownWithDrain
// returns the cause of ctx, and the queue stays shut down.
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
	return q.core.down
}

// now returns nanoseconds since the start, by the monotonic clock. Callers read it before they take
// the lock, to keep the lock short.
func (q *Queue[K, V]) now() int64 { return int64(time.Since(q.core.start)) }

// serve follows every change. It hands ready items to parked calls, and sets the timer for the
// calls that stay parked. After ShutDown it releases all of them. The lock is held.
func (q *Queue[K, V]) serve(t int64) {
	for len(q.parked) > 0 {
		w := q.parked[len(q.parked)-1]
		if w.ok = q.core.get(t, &w.item); !w.ok && !q.core.down {
			q.arm()
			break
		}
		q.takeOff(w)
		w.ready <- struct{}{}
	}
	q.checkDrained()
}

// checkDrained ends the wait of ShutDownWithDrain once the queue is drained. The lock is held.
func (q *Queue[K, V]) checkDrained() {
	if !q.core.drained() {
		return
	}
	select {
	case <-q.drained:
	default:
		close(q.drained)
	}
}

// getOrPark returns an item if Get need not wait. Otherwise it returns a parked waiter and the
// channel of the timer.
func (q *Queue[K, V]) getOrPark(item *Item[K, V]) (w *waiter[K, V], tick <-chan time.Time, ok bool) {
	t := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.takeOrPark(t, item)
}

// nextOrPark is Done and then getOrPark.
func (q *Queue[K, V]) nextOrPark(done K, item *Item[K, V]) (w *waiter[K, V], tick <-chan time.Time, ok bool) {
	t := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := q.core.findInFlight(done); n != 0 {
		q.core.done(n, t)
	}
	if w, tick, ok = q.takeOrPark(t, item); w == nil {
		q.serve(t) // other ready items may be for parked calls
	}
	return w, tick, ok
}

// takeOrPark is getOrPark at t. The lock is held.
func (q *Queue[K, V]) takeOrPark(t int64, item *Item[K, V]) (w *waiter[K, V], tick <-chan time.Time, ok bool) {
	if ok = q.core.get(t, item); ok || q.core.down {
		return nil, nil, ok
	}
	if n := len(q.freeWaiters); n > 0 {
		w, q.freeWaiters[n-1] = q.freeWaiters[n-1], nil
		q.freeWaiters = q.freeWaiters[:n-1]
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

// ticked handles a tick of the timer. One parked call receives the tick and serves all of them.
func (q *Queue[K, V]) ticked() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.armed = 0
	q.serve(q.now())
}

// unpark ends the wait of w. It returns the item of w, or false if the caller gave up before it was
// served.
func (q *Queue[K, V]) unpark(w *waiter[K, V]) (Item[K, V], bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.index >= 0 {
		q.takeOff(w)
	}
	select {
	case <-w.ready: // served while its caller gave up: the item must not be lost
	default:
	}
	item, ok := w.item, w.ok
	w.item, w.ok = Item[K, V]{}, false
	q.freeWaiters = append(q.freeWaiters, w)
	return item, ok
}

// takeOff removes w from the parked calls. The lock is held.
func (q *Queue[K, V]) takeOff(w *waiter[K, V]) {
	last := len(q.parked) - 1
	moved := q.parked[last]
	q.parked[w.index], moved.index = moved, w.index
	q.parked[last] = nil
	q.parked = q.parked[:last]
	w.index = -1
}

// arm sets the timer to the next due time. The lock is held.
func (q *Queue[K, V]) arm() {
	if due, ok := q.core.nextDue(); ok && due != q.armed {
		q.armed = due
		q.timer.Reset(time.Duration(due - q.core.latest))
	}
}
