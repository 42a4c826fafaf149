package informer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flyball-io/flyball/internal/delta"
	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// Registration is one source or handler of an informer. The same function added twice makes two registrations.
// Any goroutine may call its methods.
type Registration struct {
	inf    *Informer
	name   string
	call   func(store.Change)
	resync time.Duration // 0: never

	// backlog holds the pending changes of a handler. It is nil for a source: the applier calls a source
	// directly.
	backlog *delta.Queue

	// every is the resync period of a source; see ResyncEvery. once asks for one resync; see Resync. The applier
	// owns nextResync and spread.
	every      atomic.Int64
	once       atomic.Bool
	nextResync time.Time
	spread     spread

	lines logguard.Throttle // about panics

	synced chan struct{}
	idle   chan struct{} // closed after Remove, when no callback runs

	mu        sync.Mutex
	calling   bool
	removed   bool
	marked    bool // the mark behind the initial adds is pending
	delivered uint64
	panics    uint64
}

func newRegistration(inf *Informer, name string, call func(store.Change)) *Registration {
	return &Registration{
		inf: inf, name: name, call: call,
		synced: make(chan struct{}),
		idle:   make(chan struct{}),
	}
}

// Name returns the name that the caller gave to the source or handler.
func (r *Registration) Name() string { return r.name }

// Synced is closed when the informer has synced and the callbacks for the initial objects have returned. Those
// are the objects at the first sync, or at a later registration. It stays open if the informer stops, or the
// registration is removed, before that.
func (r *Registration) Synced() <-chan struct{} { return r.synced }

// HasSynced reports whether Synced is closed.
func (r *Registration) HasSynced() bool {
	select {
	case <-r.synced:
		return true
	default:
		return false
	}
}

// Remove ends the registration and does not wait. No further callback starts; a running one finishes. The
// pending changes are freed. Further calls, and calls after the informer has stopped, do nothing.
func (r *Registration) Remove() {
	r.mu.Lock()
	if r.removed {
		r.mu.Unlock()
		return
	}
	r.removed = true
	if !r.calling {
		close(r.idle)
	}
	r.mu.Unlock()
	if r.backlog != nil {
		r.backlog.Close()
	}
	r.inf.forget(r)
}

// RemoveAndWait removes the registration and waits for its last callback. If ctx ends first, it returns the
// cause of ctx. A callback must not call it, since it would wait for itself; use Remove there.
func (r *Registration) RemoveAndWait(ctx context.Context) error {
	r.Remove()
	select {
	case <-r.idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stats counts the delivered and the pending changes of a registration.
type Stats struct {
	// Pending is the number of keys with pending changes. Oldest is how long the first of them has been
	// pending. Both are 0 for a source, which has no pending changes.
	Pending int
	Oldest  time.Duration
	// Merged counts the changes that were merged into a pending one.
	Merged uint64
	// Dropped counts the objects that were created and deleted while too many such objects were pending.
	// The handler gets no change for them.
	Dropped uint64
	// Delivered counts the callbacks that returned or panicked.
	Delivered uint64
	// Panics counts the callbacks that panicked.
	Panics uint64
}

// Stats returns the present counts.
func (r *Registration) Stats() Stats {
	var s Stats
	if r.backlog != nil {
		b := r.backlog.Stats()
		s = Stats{Pending: b.Depth, Oldest: b.Oldest, Merged: b.Merged, Dropped: b.Dropped}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s.Delivered, s.Panics = r.delivered, r.panics
	if r.marked && s.Pending > 0 {
		s.Pending--
	}
	return s
}

// offer passes an applied change to the registration. It calls a source. For a handler it adds the packed
// entries to the backlog.
func (r *Registration) offer(c store.Change) {
	if r.backlog == nil {
		watch := r.inf.applier.watch
		watch.Begin(slowCall{partSource, r.name, c.Key})
		r.deliver(c)
		watch.End()
		return
	}
	c.Old, c.New, c.Last = c.Old.Compact(), c.New.Compact(), c.Last.Compact()
	if c.Resync {
		c.Old = c.New
	}
	r.backlog.Push(c)
}

// listed marks the end of the initial adds. It is called once.
func (r *Registration) listed() {
	if r.backlog == nil {
		close(r.synced)
		return
	}
	r.mark(true)
	r.backlog.Mark()
}

func (r *Registration) mark(waits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.marked = waits
}

// deliver calls the callback once. It reports false after Remove.
func (r *Registration) deliver(c store.Change) bool {
	r.mu.Lock()
	if r.removed {
		r.mu.Unlock()
		return false
	}
	r.calling = true
	r.mu.Unlock()
	err := run.Safely(r.name, func() error { r.call(c); return nil })
	if err != nil {
		r.inf.panicked(r, c, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calling = false
	r.delivered++
	if err != nil {
		r.panics++
	}
	if r.removed {
		close(r.idle)
	}
	return !r.removed
}

// loop is the goroutine of a handler. It delivers pending changes until ctx ends or the handler is removed.
func (r *Registration) loop(ctx context.Context) error {
	for {
		item, err := r.backlog.Next(ctx)
		switch {
		case err != nil:
			return nil // stopped, or removed
		case !r.deliverItem(item):
			return nil
		}
	}
}

// deliverItem makes the calls for an item of the backlog. It reports false after Remove.
func (r *Registration) deliverItem(item delta.Item) bool {
	if item.Mark {
		r.mark(false)
		close(r.synced)
		return true
	}
	came, went, two := splitChange(item.Change)
	return r.deliver(came) && (!two || r.deliver(went))
}

// splitChange returns the calls that a handler gets for a change. An object that was created and deleted while
// the change was pending takes two calls. A panic of the first does not prevent the second.
func splitChange(c store.Change) (first, second store.Change, two bool) {
	if c.Old != nil || c.New != nil || c.Last == nil {
		return c, c, false
	}
	came, went := c, c
	came.New, came.Last, came.Missed = c.Last, nil, false
	went.Old, went.Unseen = c.Last, nil
	return came, went, true
}
