package informer

import (
	"context"
	"slices"
	"time"

	"github.com/flyball-io/flyball/internal/lock"
	"github.com/flyball-io/flyball/internal/overdue"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/store"
)

// applier is the store's only writer, and the Sink of the reflector. It runs on the reader's goroutine for
// updates of the server. It runs on its own goroutine for joins, resyncs and memory release, and for the
// updates of the inbox.
type applier struct {
	in        *Informer
	writeLock *lock.Mutex
	inbox     *inbox
	held      bool // the reader holds the write lock, from Apply to Commit; the reader owns the field

	// txn is nil after Commit, unless a list is in progress.
	txn       *store.Txn
	relisting bool
	reset     bool // the server of the list went back in time
	// beforeList is the version of the watch when a list was applied, until the watch has that of the list.
	beforeList *string
	wake       *time.Timer // for the next resync
	idle       idler
	stopped    bool
	watch      *overdue.Watch[slowCall]
	incoming   incoming // used only with a transform
}

func newApplier(in *Informer) *applier {
	return &applier{in: in, writeLock: lock.New(), inbox: newInbox(), watch: overdue.New(overdue.After, in.overdue)}
}

// Copier is for the reflector. Incoming objects get the buffers of packed ones: a list makes little garbage.
func (a *applier) Copier() func(wire.Raw) wire.Raw {
	in, transfer := a.in, wire.CutManagedFields
	if in.o.KeepManagedFields {
		transfer = wire.CopyTo
	}
	return func(raw wire.Raw) wire.Raw { return transfer(in.buffers.get(), raw) }
}

func (a *applier) stop() {
	a.writeLock.Lock()
	defer a.writeLock.Unlock()
	a.wake.Stop()
	a.idle.timer.Stop()
	if a.txn != nil {
		a.txn.Discard()
		a.txn = nil
	}
	a.stopped = true
	a.watch.Stop()
	a.in.unweigh()
}

// start creates the timers.
func (a *applier) start() {
	a.wake = time.AfterFunc(time.Hour, a.in.wake)
	a.idle.timer = time.AfterFunc(time.Hour, a.in.wake)
}

// run is the applier's goroutine. It returns when ctx ends.
func (a *applier) run(ctx context.Context) error {
	defer a.stop()
	for {
		select {
		case <-a.in.woken:
			a.round()
		case <-ctx.Done():
			return nil
		}
	}
}

// round applies the inbox, and does the joins, resyncs and memory release that are due.
func (a *applier) round() {
	a.writeLock.Lock()
	defer a.writeLock.Unlock()
	a.in.updateVersion() // what follows may take long
	a.applyInbox()
	a.commit()
	a.in.updateVersion()
	a.join()
	a.resync(time.Now())
	a.releaseIdle(time.Now())
	a.in.weigh()
}

// Apply applies an update to the open transaction, or pushes it to the inbox.
func (a *applier) Apply(u *reflector.Update) {
	switch {
	case u.What == reflector.Unusable:
		if u.Key.Name == "" { // an object with a name follows as a rejected entry
			a.in.reportUnusable(u)
		}
		return
	case u.What == reflector.Outside:
		a.in.namespaced.Store(true)
		return
	case u.What == reflector.Sweep:
		a.in.avail.pushed++
	case u.Entry != nil:
		a.inbox.pushed.Add(1)
	}
	if a.hold() {
		a.apply(u)
	} else {
		a.inbox.push(u)
	}
}

// Commit commits the open transaction and publishes its changes. Without the write lock it leaves that to the
// applier's goroutine, and waits for room in the inbox.
func (a *applier) Commit() {
	switch {
	case a.held || a.inbox.len() > 0 && a.hold():
		defer a.release()
		a.commit()
		a.in.weigh()
		a.idle.schedule(compactAfter)
	case a.inbox.len() > 0:
		a.in.wake()
		a.inbox.waitForRoom(a.in.running())
	}
}

// hold takes the write lock for the reader, and applies the inbox. It reports false if the applier's goroutine
// has the lock or must apply the updates.
func (a *applier) hold() bool {
	if a.held {
		return true
	}
	if a.in.readAhead.Load() || !a.writeLock.TryLock() {
		return false
	}
	a.held = true
	a.applyInbox()
	return true
}

// release releases the write lock if the reader holds it.
func (a *applier) release() {
	if a.held {
		a.held = false
		a.writeLock.Unlock()
	}
}

func (a *applier) applyInbox() {
	all := a.inbox.take()
	for i := range all {
		a.apply(&all[i])
	}
	if len(all) > 0 {
		a.idle.schedule(compactAfter)
	}
}

// apply applies an update to the open transaction. A list has a transaction of its own.
func (a *applier) apply(u *reflector.Update) {
	if a.stopped {
		return
	}
	if u.What == reflector.Replace {
		a.commit()
	}
	if a.txn == nil {
		a.txn = a.in.store.Begin()
	}
	full := false
	switch u.What {
	case reflector.Put:
		full = a.txn.Put(a.prepare(u.Entry))
	case reflector.Delete:
		full = a.txn.Delete(u.Entry.Key(), a.prepare(u.Entry))
	case reflector.Replace:
		a.relisting, a.reset = true, u.Reset
		if u.Reset {
			a.txn.Reset()
		} else {
			a.txn.Replace()
		}
	case reflector.Sweep:
		a.endReplace(u)
	case reflector.Discard:
		a.txn.Discard()
		a.txn, a.relisting, a.reset = nil, false, false
		a.incoming = nil // it may have hashes of the discarded list
	}
	if full { // so sources get the UID of every incarnation
		a.commit()
	}
}

// commit commits the open transaction and publishes its changes, unless a list is in progress. It also publishes
// the objects that an index function has rejected.
func (a *applier) commit() {
	if a.relisting || a.stopped {
		return
	}
	if a.txn == nil && a.in.unreported.Swap(false) {
		a.txn = a.in.store.Begin()
	}
	if a.txn != nil {
		changes := a.txn.Commit()
		a.txn = nil
		a.publish(changes)
	}
}

// endReplace commits a list. The first list makes the informer synced. An empty version says that the server does
// not serve the kind: that does not make the informer synced.
func (a *applier) endReplace(u *reflector.Update) {
	a.relisting, a.reset = false, false
	defer a.in.avail.replaced()
	synced := a.in.HasSynced()
	if u.Version == "" && !synced {
		a.txn.Discard()
		a.txn, a.incoming = nil, nil
		return
	}
	a.txn.Sweep()
	changes := a.txn.Commit()
	a.txn = nil
	a.in.buffers.clear() // they were for the list
	if before := a.in.watch.Version(); before != u.Version {
		a.beforeList = &before
	}
	a.in.version.Store(u.Version)
	if !synced {
		close(a.in.synced)
	}
	if u.Audited != "" {
		a.in.audited(u, changes)
	}
	a.publish(changes)
	if !synced {
		for _, r := range a.in.registered() {
			r.listed()
		}
		a.resync(time.Now()) // the first periods begin
	}
}

// publish offers the changes to all registrations.
func (a *applier) publish(changes store.Changes) {
	if changes.Len() == 0 {
		return
	}
	regs := a.in.registered()
	for c := range changes.All() {
		a.in.updateRejected(c)
		if c.Deleted() {
			a.incoming.forget(c.Key)
		}
		for _, r := range regs {
			r.offer(c)
		}
	}
}

// join starts the registrations that were added while the informer runs. Each gets the objects of the store, and
// then every change.
func (a *applier) join() {
	in := a.in
	in.mu.Lock()
	joining := in.joining
	if len(joining) == 0 {
		in.mu.Unlock()
		return
	}
	in.joining = nil
	in.regs = slices.Concat(in.regs, joining)
	in.mu.Unlock()
	for _, r := range joining {
		in.start(r)
	}
	for e := range in.store.Snapshot().All() {
		for _, r := range joining {
			r.offer(store.Change{Key: e.Key(), New: e, Initial: true})
		}
	}
	if in.HasSynced() {
		for _, r := range joining {
			r.listed()
		}
	}
}

// resync resyncs the registrations that are due, and sets the timer for the next ones.
func (a *applier) resync(now time.Time) {
	if !a.in.HasSynced() {
		return
	}
	var first time.Time
	sooner := func(at time.Time) {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	for _, r := range a.in.registered() {
		if r.once.Swap(false) {
			a.resyncAll(r)
		}
		if every := r.every.Load(); every > 0 {
			sooner(a.resyncSome(r, time.Duration(every), now))
		}
		if r.resync <= 0 {
			continue
		}
		if r.nextResync.IsZero() {
			r.nextResync = now.Add(r.resync)
		} else if !now.Before(r.nextResync) {
			a.resyncAll(r)
			r.nextResync = now.Add(r.resync)
		}
		sooner(r.nextResync)
	}
	if !first.IsZero() {
		a.wake.Reset(first.Sub(now))
	}
}
