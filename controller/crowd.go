package controller

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/workqueue"
)

// crowd has the keys of a source that have many waiting events. It makes up for the events that are merged.
//
// States between merged events are lost to predicates and to the handler. Requests that depended on such a state
// cannot be found any more. But that matters only to a reconcile that has read the state. So the crowd observes
// which requests are reconciled while such states are shown. These are queued again when the handler comes to the
// merged event. Events may be merged only if their states came after the crowd began to observe.
//
// It costs memory for the requests that are reconciled meanwhile, and none while nothing is crowded.
type crowd[R comparable] struct {
	observes atomic.Bool // atomic: workers look at it after each reconcile

	mu       sync.Mutex
	keys     map[object.Key]uint64 // by key, the number of the latest event that made it crowded
	since    uint64                // states of later events are observed
	requests map[R]struct{}        // reconciled since then
}

// full records that many events of a key wait, up to number. latest is the latest event of the source. It returns
// the number of the event up to which states are not observed.
func (c *crowd[R]) full(key object.Key, number, latest uint64) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys == nil {
		c.keys, c.requests = map[object.Key]uint64{}, map[R]struct{}{}
		c.since = latest + 1 // the state of the next event may be shown already
		c.observes.Store(true)
	}
	c.keys[key] = number
	return c.since
}

// has reports whether many events of a key wait.
func (c *crowd[R]) has(key object.Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.keys[key]
	return ok
}

// empty records that the events of a key up to number do not wait any more.
func (c *crowd[R]) empty(key object.Key, number uint64) {
	if !c.observes.Load() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if last, ok := c.keys[key]; !ok || last > number {
		return
	}
	if delete(c.keys, key); len(c.keys) == 0 {
		c.keys, c.requests = nil, nil
		c.observes.Store(false)
	}
}

// reconciled records that a reconcile of a request has ended.
func (c *crowd[R]) reconciled(req R) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests != nil {
		c.requests[req] = struct{}{}
	}
}

// observed are the requests that were reconciled.
func (c *crowd[R]) observed() (all []R) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for req := range c.requests {
		all = append(all, req)
	}
	return all
}

// repeat queues the requests again that may have been reconciled while a state was shown that is lost between the
// merged ones of the events. It is called when the handler comes to them: what starts from now on reads a later state.
func (f *feed[R]) repeat(events []waiting) {
	i := slices.IndexFunc(events, func(w waiting) bool { return w.merged })
	if i < 0 {
		return
	}
	cause := causeOf(events[i].change, f.source.gvk)
	o := workqueue.AddOptions[reconcile.Cause]{Priority: f.priority(cause), Value: cause}
	again := f.attempts.requests() // before those that have ended: none is between the two
	again = append(again, f.crowd.observed()...)
	for _, req := range again {
		f.queue.AddWith(req, o)
	}
	for i := range events {
		events[i].merged = false
	}
}
