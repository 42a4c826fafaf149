package informer

import (
	"context"
	"slices"
	"time"

	"github.com/flyball-io/flyball/delta"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/store"
)

// sink is what the reflector pushes into. It blocks only while so much waits to be stored that the
// rest had better wait in the connection: what waits is not packed yet.
type sink struct {
	in        *Informer
	replacing bool
}

// How many objects may wait to be stored: of a list, of which each is another one, and of a watch,
// where an object that changes again takes no more room.
const (
	listAhead  = 256
	watchAhead = 1024
)

func (s *sink) BeginReplace(reset bool, _ reflector.Reason) {
	s.replacing = true
	s.in.fifo.BeginReplace(reset)
}

func (s *sink) Upsert(e *store.Entry) {
	if s.replacing {
		s.in.fifo.Room(s.in.running(), listAhead)
		s.in.fifo.Push(delta.Replaced, e)
		return
	}
	s.in.fifo.Room(s.in.running(), watchAhead)
	s.in.fifo.Push(delta.Updated, e)
}

func (s *sink) Delete(last *store.Entry) {
	s.in.fifo.Room(s.in.running(), watchAhead)
	s.in.fifo.Push(delta.Deleted, last)
}

func (s *sink) EndReplace(version string) {
	s.replacing = false
	s.in.fifo.EndReplace(version)
}

func (s *sink) AbortReplace() {
	s.replacing = false
	s.in.fifo.AbortReplace()
}

// Report passes on what has no name. What has one follows as an entry that is set aside, and is
// reported when the store has it.
func (s *sink) Report(p reflector.Problem) {
	if p.Key.Name == "" {
		s.in.garbage(p)
	}
}

// applier owns the writing side of the store. It runs on one goroutine.
type applier struct {
	in *Informer
	// txn is open between two batches only while a relist comes in.
	txn       *store.Txn
	relisting bool
	reset     bool        // the relist is from a server that went back in time
	wake      *time.Timer // for the next resync
	tidy      *time.Timer // for what waits for readers
	wait      time.Duration
}

func newApplier(in *Informer) *applier {
	return &applier{in: in, wake: time.AfterFunc(time.Hour, in.fifo.Wake), tidy: time.AfterFunc(time.Hour, in.fifo.Wake)}
}

func (a *applier) stop() {
	a.wake.Stop()
	a.tidy.Stop()
}

// apply is the applier's goroutine.
func (in *Informer) apply(ctx context.Context) error {
	a := newApplier(in)
	defer a.stop()
	defer in.unweigh()
	for {
		batch, err := in.fifo.TakeAll(ctx)
		if err != nil {
			if a.txn != nil {
				a.txn.Discard()
			}
			return nil // ctx has ended
		}
		a.step(batch)
		a.join()
		a.resync(time.Now())
		a.reclaim()
		in.weigh()
	}
}

// reclaim gives memory back while there is nothing to apply, and has the applier woken again when
// something waits for readers.
func (a *applier) reclaim() {
	if a.txn != nil {
		return
	}
	for a.in.fifo.Stats().Depth == 0 && a.in.store.Reclaim() {
	}
	if a.in.store.Reclaimable() == 0 {
		a.wait = 0
		return
	}
	a.wait = min(max(2*a.wait, 100*time.Millisecond), 10*time.Second)
	a.tidy.Reset(a.wait)
}

// step applies a batch. It becomes visible as a whole, except that a relist is a commit of its
// own, between what came before it and what came after.
func (a *applier) step(batch []delta.Delta[*store.Entry]) {
	a.begin()
	for _, d := range batch {
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
	synced := a.in.HasSynced()
	if version == "" && !synced {
		a.txn.Discard()
		a.txn = nil
		return
	}
	a.txn.Sweep()
	changes := a.txn.Commit()
	a.txn = nil
	if !synced {
		close(a.in.synced)
	}
	a.tell(changes)
	if !synced {
		for _, r := range a.in.registered() {
			r.listed()
		}
	}
}

func (a *applier) tell(changes store.Changes) {
	if changes.Len() == 0 {
		return
	}
	regs := a.in.registered()
	for c := range changes.All() {
		a.in.tidy(c)
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
	for _, r := range a.in.registered() {
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
		if first.IsZero() || r.nextResync.Before(first) {
			first = r.nextResync
		}
	}
	if !first.IsZero() {
		a.wake.Reset(first.Sub(now))
	}
}
