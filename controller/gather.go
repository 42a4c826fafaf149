package controller

import (
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/workqueue"
)

// together is how many requests are queued at a time, at most.
const together = 256

// gather collects the requests that a change causes, each once, and queues them together. Before
// the workers start it also collects those of many objects of the first list.
//
// A change is mapped from what the object was and from what it is, which mostly leads to the same
// request; a worker that took it in between would run twice.
type gather[R comparable] struct {
	adds   []workqueue.Add[R, reconcile.Cause]
	cause  reconcile.Cause // of the change that is being mapped
	some   bool            // it has caused a request
	first  R
	rest   map[R]struct{} // the others
	direct bool           // the workers may run: nothing is kept back
}

// begin says which change the requests that follow are caused by.
func (g *gather[R]) begin(cause reconcile.Cause) {
	g.cause, g.some, g.rest = cause, false, nil
}

// isNew reports whether the change has not caused req before. It panics for what cannot be compared.
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

// caused is what handlers add requests by.
func (f *feed[R]) caused(req R) {
	g := &f.gather
	if !g.isNew(req) {
		return
	}
	g.adds = append(g.adds, workqueue.Add[R, reconcile.Cause]{
		Key: req, AddOptions: workqueue.AddOptions[reconcile.Cause]{Priority: f.priority(g.cause), Value: g.cause},
	})
	if len(g.adds) == together {
		f.flush()
	}
}

// flush queues what was gathered. Calls is held.
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

// synced queues what was kept back of the first list; from now on nothing is.
func (f *feed[R]) synced() {
	f.calls.Lock()
	defer f.calls.Unlock()
	f.flush()
	f.gather.adds, f.gather.direct = nil, true
}
