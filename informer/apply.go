package informer

import (
	"context"
	"slices"
	"time"

	"github.com/flyball-io/flyball/delta"
	"github.com/flyball-io/flyball/internal/overdue"
	"github.com/flyball-io/flyball/internal/turn"
	"github.com/flyball-io/flyball/store"
)

// applier owns the writing side of the store, for whoever has its turn: the goroutine that reads the
// watch, see sink, or its own, which does what nothing on the watch is the occasion for.
type applier struct {
	in   *Informer
	turn *turn.Mutex
	// txn is open between two batches only while a relist comes in.
	txn       *store.Txn
	relisting bool
	reset     bool        // the relist is from a server that went back in time
	wake      *time.Timer // for the next resync
	idle      idler
	stopped   bool
	watch     *overdue.Watch[slowCall]
	incoming  incoming                    // if there is a transform
	batch     []delta.Delta[*store.Entry] // taken last, and cleared
}

func newApplier(in *Informer) *applier {
	return &applier{
		in: in, turn: turn.New(), watch: overdue.New(in.overdue),
		wake: time.AfterFunc(time.Hour, in.fifo.Wake), idle: idler{timer: time.AfterFunc(time.Hour, in.fifo.Wake)},
	}
}

func (a *applier) stop() {
	a.turn.Lock()
	defer a.turn.Unlock()
	a.wake.Stop()
	a.in.audits.stop()
	a.idle.timer.Stop()
	if a.txn != nil {
		a.txn.Discard()
		a.txn = nil
	}
	a.stopped = true
	a.watch.Stop()
	a.in.unweigh()
}

// run is the applier's goroutine. It ends with ctx.
func (a *applier) run(ctx context.Context) error {
	defer a.stop()
	for a.in.fifo.Wait(ctx) == nil {
		a.round()
	}
	return nil
}

// round applies what waits, and does what is to be done at times.
func (a *applier) round() {
	a.turn.Lock()
	defer a.turn.Unlock()
	a.apply()
	a.join()
	a.resync(time.Now())
	a.releaseIdle(time.Now())
	a.in.audits.due(time.Now())
	a.in.weigh()
}

// tryApply applies what waits, unless somebody else has the turn: then it reports false.
func (a *applier) tryApply() bool {
	if !a.turn.TryLock() {
		return false
	}
	defer a.turn.Unlock()
	a.applyNow()
	return true
}

// catchUp applies what was passed to the sink before the call.
func (a *applier) catchUp() {
	a.turn.Lock()
	defer a.turn.Unlock()
	a.applyNow()
}

func (a *applier) applyNow() {
	if a.apply() {
		a.in.weigh()
		a.idle.lookIn(idlePause)
	}
}

// apply applies what waits, and reports whether that was anything.
func (a *applier) apply() bool {
	if a.stopped {
		return false
	}
	a.batch = a.in.fifo.TakeAll(a.batch)
	if len(a.batch) == 0 {
		if a.in.unreported.Swap(false) && a.txn == nil {
			a.begin()
			a.commit()
		}
		return false
	}
	a.step(a.batch)
	clear(a.batch)
	return true
}

// step applies a batch. It becomes visible as a whole, except that a relist is a commit of its
// own, between what came before it and what came after.
func (a *applier) step(batch []delta.Delta[*store.Entry]) {
	a.begin()
	for _, d := range batch {
		if d.Unseen != nil {
			a.txn.Passed(d.Unseen)
		}
		switch d.Type {
		case delta.BeginReplace:
			a.commit()
			a.begin()
			a.relisting, a.reset = true, d.Reset
			if d.Reset {
				a.txn.Reset()
			} else {
				a.txn.Replace()
			}
		case delta.EndReplace:
			a.endReplace(d.Version)
			a.begin()
		case delta.AbortReplace:
			a.txn.Discard()
			a.txn, a.relisting, a.reset = nil, false, false
			a.incoming = nil // it may be of what is not held
			a.begin()
		case delta.Sync:
			a.txn.Resync(d.Key)
		case delta.Deleted:
			a.txn.Delete(d.Key, a.prepare(d.Value))
		default:
			a.txn.Put(a.prepare(d.Value))
		}
	}
	if !a.relisting {
		a.commit()
	}
}

func (a *applier) begin() {
	if a.txn == nil {
		a.txn = a.in.store.Begin()
	}
}

// commit makes the open transaction visible, and tells everyone.
func (a *applier) commit() {
	changes := a.txn.Commit()
	a.txn = nil
	a.tell(changes)
}

// endReplace makes a relist visible. The first one is what makes the informer synced; a kind that
// is not served (the version is empty then) has no content to be synced with.
func (a *applier) endReplace(version string) {
	a.relisting, a.reset = false, false
	defer a.in.avail.replaced()
	synced := a.in.HasSynced()
	if version == "" && !synced {
		a.txn.Discard()
		a.txn, a.incoming = nil, nil
		return
	}
	a.txn.Sweep()
	changes := a.txn.Commit()
	a.txn = nil
	a.in.spare.drop() // it was for a list
	if !synced {
		close(a.in.synced)
	}
	a.tell(changes)
	if !synced {
		for _, r := range a.in.registered() {
			r.listed()
		}
		a.resync(time.Now()) // the periods begin
		a.in.audits.begin(time.Now())
	}
}

func (a *applier) tell(changes store.Changes) {
	if changes.Len() == 0 {
		return
	}
	regs := a.in.registered()
	for c := range changes.All() {
		a.in.tidy(c)
		if c.Deleted() {
			a.incoming.forget(c.Key)
		}
		for _, r := range regs {
			r.offer(c)
		}
	}
}

// join takes over those who were added while the informer runs: they are given what is in the
// store, and every change after that.
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
	snapshot := in.store.Snapshot()
	for _, r := range joining {
		in.start(r)
		for e := range snapshot.All() {
			r.offer(store.Change{Key: e.Key(), New: e, Initial: true})
		}
		if in.HasSynced() {
			r.listed()
		}
	}
}

// resync shows everything again to the handlers whose time has come, and to nobody else.
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
		if every := r.every.Load(); every > 0 {
			sooner(a.showSome(r, time.Duration(every), now))
		}
		if r.resync <= 0 {
			continue
		}
		if r.nextResync.IsZero() {
			r.nextResync = now.Add(r.resync)
		} else if !now.Before(r.nextResync) {
			for e := range a.in.store.Snapshot().All() {
				r.offer(store.Change{Key: e.Key(), Old: e, New: e, Resync: true})
			}
			r.nextResync = now.Add(r.resync)
		}
		sooner(r.nextResync)
	}
	if !first.IsZero() {
		a.wake.Reset(first.Sub(now))
	}
}
