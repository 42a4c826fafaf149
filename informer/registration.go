package informer

import (
	"context"
	"sync"
	"time"

	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// Registration is one source or handler of an informer. The same function added twice makes two
// registrations. Its methods may be called from any goroutine.
type Registration struct {
	inf    *Informer
	name   string
	call   func(store.Change)
	inline bool          // called on the applier's goroutine, for every change
	resync time.Duration // 0: never

	// nextResync belongs to the applier.
	nextResync time.Time

	wake   chan struct{} // capacity 1: something was pushed
	synced chan struct{}
	gone   chan struct{} // closed on removal
	idle   chan struct{} // closed when removed and no callback runs

	mu        sync.Mutex
	backlog   backlog
	calling   bool
	removed   bool
	isSynced  bool
	delivered uint64
	panics    uint64
}

func newRegistration(inf *Informer, name string, call func(store.Change)) *Registration {
	return &Registration{
		inf: inf, name: name, call: call,
		wake:   make(chan struct{}, 1),
		synced: make(chan struct{}),
		gone:   make(chan struct{}),
		idle:   make(chan struct{}),
	}
}

// Name is the name given when it was added.
func (r *Registration) Name() string { return r.name }

// Synced is closed when the informer has synced and the callbacks for every object that was
// there then, or that was there when the handler joined, have returned.
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
	r.backlog = backlog{}
	close(r.gone)
	if !r.calling {
		close(r.idle)
	}
	r.mu.Unlock()
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

// Backlog says how far a registration is behind.
type Backlog struct {
	// Pending is the number of keys that wait. It is always 0 for a source, which is called as
	// changes are applied.
	Pending int
	// Delivered counts the changes whose callback has returned or panicked.
	Delivered uint64
	// Panics counts the callbacks that panicked.
	Panics uint64
}

// Backlog returns the present figures.
func (r *Registration) Backlog() Backlog {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Backlog{Pending: r.backlog.len(), Delivered: r.delivered, Panics: r.panics}
}

// offer hands changes to the registration, on the applier's goroutine: a source is called, a
// handler finds them in its backlog.
func (r *Registration) offer(changes []store.Change) {
	if r.inline {
		for _, c := range changes {
			if !r.deliver(c) {
				return
			}
		}
		return
	}
	r.mu.Lock()
	if r.removed {
		r.mu.Unlock()
		return
	}
	for _, c := range changes {
		r.backlog.push(c)
	}
	r.settleLocked()
	r.mu.Unlock()
	r.signal()
}

// listed says that every initial add has been offered.
func (r *Registration) listed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.backlog.listed = true
	r.settleLocked()
}

func (r *Registration) settleLocked() {
	if !r.isSynced && r.backlog.synced() {
		r.isSynced = true
		close(r.synced)
	}
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
		return false
	}
	if !r.inline {
		r.backlog.done(c)
		r.settleLocked()
	}
	return true
}

// loop is the goroutine of a handler: it takes what waits and calls, until ctx ends or the
// handler is removed.
func (r *Registration) loop(ctx context.Context) error {
	for {
		r.mu.Lock()
		c, ok := r.backlog.pop()
		r.mu.Unlock()
		if ok {
			if ctx.Err() != nil || !r.deliver(c) {
				return nil
			}
			continue
		}
		select {
		case <-r.wake:
		case <-r.gone:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

func (r *Registration) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
