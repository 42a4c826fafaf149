package ctrl

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	crhandler "sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/flyball-io/flyball/internal/ctxkey"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/workqueue"
)

// queue is the end of a controller's queue that handlers and sources of controller-runtime get. They add to it,
// with a delay, a priority or the rate limit. The workers are those of the controller: Get says that the queue
// is shut down, and Done and ShutDown do nothing.
type queue[C, R comparable] struct {
	to      *workqueue.Queue[R, reconcile.Cause] // nil outside of a controller: every add is one at once
	request func(C) R
	cause   reconcile.Cause // of adds that do not go by add
	low     bool            // the event shows nothing new: its priority is that of the controller for such events

	mu  sync.Mutex
	add func(R) // the plain add of the present event; nil when the event was handled
}

var _ priorityqueue.PriorityQueue[string] = (*queue[string, string])(nil)

func newQueue[C, R comparable](ctx context.Context, request func(C) R, cause reconcile.Cause, add func(R)) *queue[C, R] {
	to, _ := ctx.Value(ctxkey.Queue{}).(*workqueue.Queue[R, reconcile.Cause])
	return &queue[C, R]{to: to, request: request, cause: cause, add: add}
}

// close ends the plain adds. Later ones, as from a goroutine of the handler, go to the queue itself.
func (q *queue[C, R]) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.to != nil {
		q.add = nil
	}
}

// plain adds a request of the present event. It reports false if there is none.
func (q *queue[C, R]) plain(r R) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.add == nil {
		return false
	}
	q.add(r)
	return true
}

// AddWithOpts implements priorityqueue.PriorityQueue.
func (q *queue[C, R]) AddWithOpts(o priorityqueue.AddOpts, items ...C) {
	usual := o.Priority == nil || q.low && *o.Priority == crhandler.LowPriority
	for _, item := range items {
		r := q.request(item)
		if (q.to == nil || usual && o.After <= 0 && !o.RateLimited) && q.plain(r) {
			continue
		}
		with := workqueue.AddOptions[reconcile.Cause]{After: o.After, RateLimited: o.RateLimited, Value: q.cause}
		if o.Priority != nil {
			with.Priority = *o.Priority
		}
		if q.to != nil {
			q.to.AddWith(r, with)
		}
	}
}

// Add implements workqueue.TypedInterface.
func (q *queue[C, R]) Add(item C) { q.AddWithOpts(priorityqueue.AddOpts{}, item) }

// AddAfter implements workqueue.TypedDelayingInterface.
func (q *queue[C, R]) AddAfter(item C, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, item)
}

// AddRateLimited implements workqueue.TypedRateLimitingInterface.
func (q *queue[C, R]) AddRateLimited(item C) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, item)
}

// Forget implements workqueue.TypedRateLimitingInterface.
func (q *queue[C, R]) Forget(item C) {
	if q.to != nil {
		q.to.Forget(q.request(item))
	}
}

// NumRequeues implements workqueue.TypedRateLimitingInterface.
func (q *queue[C, R]) NumRequeues(item C) int {
	if q.to == nil {
		return 0
	}
	return q.to.NumRequeues(q.request(item))
}

// Len implements workqueue.TypedInterface.
func (q *queue[C, R]) Len() int {
	if q.to == nil {
		return 0
	}
	return q.to.Len()
}

// ShuttingDown implements workqueue.TypedInterface.
func (q *queue[C, R]) ShuttingDown() bool { return q.to != nil && q.to.ShuttingDown() }

// Get implements workqueue.TypedInterface.
func (q *queue[C, R]) Get() (item C, shutdown bool) { return item, true }

// GetWithPriority implements priorityqueue.PriorityQueue.
func (q *queue[C, R]) GetWithPriority() (item C, priority int, shutdown bool) { return item, 0, true }

// Done implements workqueue.TypedInterface.
func (q *queue[C, R]) Done(C) {}

// ShutDown implements workqueue.TypedInterface.
func (q *queue[C, R]) ShutDown() {}

// ShutDownWithDrain implements workqueue.TypedInterface.
func (q *queue[C, R]) ShutDownWithDrain() {}
