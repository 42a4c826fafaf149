package workqueue

import (
	"context"
	"sync"
	"time"

	"github.com/flyball-io/flyball/internal/ctxkey"
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
	mu      sync.Mutex
	core    *core[K, V]
	parked  int           // number of parked Get calls
	wake    chan struct{} // one token: a parked call tries again, and passes it on
	timer   *time.Timer   // fires at the next due time, while Get calls are parked; made by the first of them
	armed   int64         // due time that timer is set to; zero means none
	drained chan struct{}
}

// New returns an empty queue, or an *option.Error. It starts no goroutine.
func New[K comparable, V any](opts Options[K, V]) (*Queue[K, V], error) {
	core, err := newCore(opts, time.Now())
	if err != nil {
		return nil, err
	}
	return &Queue[K, V]{core: core, wake: make(chan struct{}, 1), drained: make(chan struct{})}, nil
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
	q.serve()
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
	q.serve()
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
	t := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.take(ctx, t)
}

// Next is Done of a key and then Get, in one step. A worker calls it between two items. If ctx has
// ended, it is Done only.
func (q *Queue[K, V]) Next(ctx context.Context, done K) (item Item[K, V], ok bool) {
	if ctx.Err() != nil {
		q.Done(done)
		return item, false
	}
	t := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.core.findInFlight(done); e != nil {
		q.core.done(e, t)
	}
	return q.take(ctx, t)
}

// take returns the next item. It parks until there is one, the queue is shut down or ctx ends. The
// lock is held, but for the time in which the call is parked.
func (q *Queue[K, V]) take(ctx context.Context, t int64) (item Item[K, V], ok bool) {
	for turn := ctxkey.Turn(ctx); ; t = q.now() {
		if turn != nil {
			q.mu.Unlock()
			last := turn(ctx)
			q.mu.Lock()
			if t = q.now(); ctx.Err() != nil {
				break
			}
			if last {
				q.core.ready.lastFirst()
			}
		}
		if ok = q.core.get(t, &item); ok || q.core.down || !q.park(ctx) {
			break
		}
	}
	q.serve()
	return item, ok
}

// park waits until the call may find an item. It reports false if ctx has ended instead.
func (q *Queue[K, V]) park(ctx context.Context) (retry bool) {
	if q.timer == nil {
		q.timer = time.NewTimer(time.Hour)
		q.timer.Stop()
	}
	q.parked++
	q.arm()
	q.mu.Unlock()
	ticked := false
	select {
	case <-q.wake:
		retry = true
	case <-q.timer.C:
		retry, ticked = true, true
	case <-ctx.Done():
	}
	q.mu.Lock()
	q.parked--
	if ticked {
		q.armed = 0
	}
	return retry
}

// Done ends the work on key. If the key was added since Get, it is ready again. Done of a key that
// is not in flight does nothing.
func (q *Queue[K, V]) Done(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.core.findInFlight(key)
	if e == nil {
		return
	}
	if q.core.needsNoClock(e) { // reading the clock is a good part of the cost of Done
		q.core.done(e, 0)
		q.checkDrained()
		return
	}
	t := q.now()
	q.core.done(e, t)
	q.serve()
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
	q.serve()
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

// serve follows every change. If an item is ready, or the queue is shut down, it wakes a parked call,
// which calls serve in turn. Otherwise it sets the timer. The lock is held.
func (q *Queue[K, V]) serve() {
	switch {
	case q.parked == 0:
	case q.core.ready.ages.n > 0 || q.core.down:
		select {
		case q.wake <- struct{}{}:
		default:
		}
	default:
		q.arm()
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

// arm sets the timer to the next due time. The lock is held.
func (q *Queue[K, V]) arm() {
	if due, ok := q.core.nextDue(); ok && due != q.armed {
		q.armed = due
		q.timer.Reset(time.Duration(due - q.core.latest))
	}
}
