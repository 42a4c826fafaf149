package informer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flyball-io/flyball/backoff"
	"github.com/flyball-io/flyball/delta"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// Registration is one source or handler of an informer. The same function added twice makes two
// registrations. Its methods may be called from any goroutine.
type Registration struct {
	inf    *Informer
	name   string
	call   func(store.Change)
	resync time.Duration // 0: never

	// backlog is what a handler was not shown yet; nil for a source, which is called on the
	// goroutine that applies.
	backlog *delta.Backlog[*store.Entry]

	// every is the period of a source, see ResyncEvery; nextResync and spread belong to the applier.
	every      atomic.Int64
	nextResync time.Time
	spread     spread

	// quiet and unsaid keep a callback that always panics from drowning the log. They belong to
	// the goroutine that calls it.
	quiet  backoff.Bucket
	unsaid int

	synced chan struct{}
	idle   chan struct{} // closed when removed and no callback runs

	mu        sync.Mutex
	calling   bool
	removed   bool
	marked    bool // the end of the initial adds waits in the backlog
	delivered uint64
	panics    uint64
}

func newRegistration(inf *Informer, name string, call func(store.Change)) *Registration {
	return &Registration{
		inf: inf, name: name, call: call,
		synced: make(chan struct{}),
		idle:   make(chan struct{}),
		quiet:  backoff.Bucket{Rate: 1.0 / 60, Burst: 5},
	}
}

// Name is the name given when it was added.
func (r *Registration) Name() string { return r.name }

// Synced is closed when the informer has synced and the callbacks for every object that was
// there then, or that was there when the handler joined, have returned. It stays open if the
// informer stops, or the registration is removed, before that.
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

// Remove ends the registration and does not wait: no further callback starts, one that runs
// finishes. What waited for it is freed. Removing twice, or after the informer stopped, is fine.
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

// RemoveAndWait removes the registration and returns when its last callback has returned, or
// with the cause of ctx when that ends first. A callback that calls it waits for itself: use
// Remove there.
func (r *Registration) RemoveAndWait(ctx context.Context) error {
	r.Remove()
	select {
	case <-r.idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stats says how far a registration is, and how far behind.
type Stats struct {
	// Pending is the number of keys that wait, and Oldest how long the first of them has waited.
	// Both are 0 for a source, which is called as changes are applied.
	Pending int
	Oldest  time.Duration
	// Merged counts the changes that were merged into one that waited.
	Merged uint64
	// Dropped counts the objects that came and went while too many others waited that had, too: the
	// handler is never told of them.
	Dropped uint64
	// Delivered counts the changes whose callback has returned or panicked.
	Delivered uint64
	// Panics counts the callbacks that panicked.
	Panics uint64
}

// Stats returns the present figures.
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

// offer hands a change to the registration, as it is applied: a source is called, a
// handler finds it in its backlog, where it costs no more than what is packed.
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
	r.backlog.Push(delta.Change[*store.Entry](c))
}

// listed says that every initial add has been offered. It is called once.
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

// deliver makes one call. It reports false when the registration was removed.
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

// loop is the goroutine of a handler: it takes what waits and calls, until ctx ends or the
// handler is removed.
func (r *Registration) loop(ctx context.Context) error {
	for {
		item, err := r.backlog.Next(ctx)
		switch {
		case err != nil:
			return nil // stopped, or removed
		case !r.tell(item):
			return nil
		}
	}
}

// tell makes the calls for what a backlog handed out. It reports false when the registration was
// removed.
func (r *Registration) tell(item delta.Item[*store.Entry]) bool {
	if item.Mark {
		r.mark(false)
		close(r.synced)
		return true
	}
	came, went, two := told(store.Change(item.Change))
	return r.deliver(came) && (!two || r.deliver(went))
}

// told is a change as a handler is told it. That an object came and went is two calls; the second
// is made whatever becomes of the first.
func told(c store.Change) (first, second store.Change, two bool) {
	if c.Old != nil || c.New != nil || c.Last == nil {
		return c, c, false
	}
	came, went := c, c
	came.New, came.Last, came.Missed = c.Last, nil, false
	went.Old, went.Unseen = c.Last, nil
	return came, went, true
}
