package controller

import (
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/workqueue"
)

// batchSize is the most requests that are queued in one call.
const batchSize = 256

// gather is a batch of the requests of one change, each once. Before the workers start, a batch spans many
// objects of the first list.
//
// A change is mapped from the old and from the new state of its object. Both mostly lead to the same request.
// If the first were queued alone, a worker could take it before the second, and would run twice.
type gather[R comparable] struct {
	adds   []workqueue.Add[R, reconcile.Cause]
	cause  reconcile.Cause // of the present change
	some   bool            // the present change has caused a request
	first  R               // of the present change
	rest   map[R]struct{}  // the further requests of the present change
	direct bool            // workers may run: each change is queued at once
}

// begin sets the cause of the requests that follow.
func (g *gather[R]) begin(cause reconcile.Cause) {
	g.cause, g.some, g.rest = cause, false, nil
}

// isNew reports whether the change has not caused req before. It panics if req cannot be compared.
func (g *gather[R]) isNew(req R) bool {
	if !g.some {
		g.some, g.first = true, req
		_ = req == g.first
		return true
	}
	if _, seen := g.rest[req]; seen || req == g.first {
		return false
	}
	if g.rest == nil {
		g.rest = map[R]struct{}{}
	}
	g.rest[req] = struct{}{}
	return true
}

// caused adds a request of the present change. Handlers call it.
func (f *feed[R]) caused(req R) {
	g := &f.gather
	if !g.isNew(req) {
		return
	}
	g.adds = append(g.adds, workqueue.Add[R, reconcile.Cause]{
		Key: req, AddOptions: workqueue.AddOptions[reconcile.Cause]{Priority: f.priority(g.cause), Value: g.cause},
	})
	if len(g.adds) == batchSize {
		f.flush()
	}
}

// flush queues the batch. The caller holds f.calls.
func (f *feed[R]) flush() {
	if len(f.gather.adds) == 0 {
		return
	}
	defer func() {
		clear(f.gather.adds)
		f.gather.adds = f.gather.adds[:0]
	}()
	f.queue.AddAll(f.gather.adds)
}

// synced queues the batch of the first list, and ends batches across changes.
func (f *feed[R]) synced() {
	f.calls.Lock()
	defer f.calls.Unlock()
	f.flush()
	f.gather.adds, f.gather.direct = nil, true
}
