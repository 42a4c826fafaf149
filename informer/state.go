package informer

import (
	"fmt"

	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/store"
)

// State is the state of an informer. It is a copy.
type State struct {
	// Watch is the state of the list and watch, with their error.
	Watch reflector.State
	// Err is Watch.Err, the present failure of the watch; nil if it works.
	Err error
	// Synced is set when the first complete list is in the store, and stays set.
	Synced bool
	// Objects is the number of objects in the store, with the rejected ones.
	Objects int
	// Rejected is the number of rejected objects; see Informer.Rejected.
	Rejected int
	// Unavailable is an *UnavailableError, the error of reads, while the kind is unavailable; else nil.
	Unavailable error
}

// String is one line for a person: "synced", "forbidden: list secrets: …".
func (s State) String() string {
	text := s.Watch.Phase.String()
	if s.Err != nil {
		text += ": " + s.Err.Error()
	}
	if s.Rejected > 0 {
		text += fmt.Sprintf(" (%d of %d objects rejected)", s.Rejected, s.Objects)
	}
	return text
}

// State returns the present state.
func (in *Informer) State() State {
	s := State{Watch: in.watch.State(), Synced: in.HasSynced(), Objects: in.store.Snapshot().Len(), Unavailable: in.Unavailable()}
	s.Err = s.Watch.Err
	in.mu.Lock()
	defer in.mu.Unlock()
	s.Rejected = len(in.rejected)
	return s
}

// Version returns a resourceVersion up to which reads show every event; empty before the first list is complete.
// While the writer is busy it is that of an earlier moment. State describes the watch, which may be ahead of reads.
func (in *Informer) Version() string {
	if in.applier.writeLock.TryLock() {
		in.updateVersion()
		in.applier.writeLock.Unlock()
	}
	v, _ := in.version.Load().(string)
	return v
}

// updateVersion takes the version of the watch, if the store has all of its events. The caller has the write lock.
func (in *Informer) updateVersion() {
	// The order matters: the reader fills the inbox, and then the version of the watch moves.
	v := in.watch.Version()
	if before := in.applier.beforeList; before != nil && *before == v {
		return // the reader does not know yet that the list is in the store
	}
	if in.applier.inbox.len() == 0 {
		in.version.Store(v)
		in.applier.beforeList = nil
	}
}

// Synced is closed when the first complete list is in the store.
func (in *Informer) Synced() <-chan struct{} { return in.synced }

// HasSynced reports whether Synced is closed.
func (in *Informer) HasSynced() bool {
	select {
	case <-in.synced:
		return true
	default:
		return false
	}
}

func (in *Informer) notSynced() *NotSyncedError {
	return &NotSyncedError{Kind: in.o.Kind.GVK, Selection: in.o.Selection, State: in.State()}
}

// Figures count what an informer holds, and its work so far.
type Figures struct {
	Store store.Stats
	// Queued is how many updates were read that are not in the store yet. Coalesced counts those that were merged
	// with one that was queued.
	Queued    int
	Coalesced uint64
	// Handlers is the sum over all present registrations. Its Oldest is the maximum.
	Handlers Stats
	// Budget compares Options.Budget with the bytes held by all informers that share it.
	Budget BudgetState
	// Audit counts the audits of the watch.
	Audit AuditStats
	// LabelIndexes are the keys of labels for which the informer has made an index by itself, since many lists by
	// them read much more than they return. Unused, an index goes. Their memory is in Store.Held.
	LabelIndexes []string
}

// Figures returns the present figures.
func (in *Informer) Figures() Figures {
	f := Figures{Store: in.store.Stats(), Budget: in.o.Budget.State(), Audit: in.auditStats(), LabelIndexes: in.labels.keys()}
	f.Queued, f.Coalesced = in.applier.inbox.len(), in.applier.inbox.merged.Load()
	for _, r := range in.registered() {
		s := r.Stats()
		f.Handlers.Pending += s.Pending
		f.Handlers.Oldest = max(f.Handlers.Oldest, s.Oldest)
		f.Handlers.Merged += s.Merged
		f.Handlers.Dropped += s.Dropped
		f.Handlers.Delivered += s.Delivered
		f.Handlers.Panics += s.Panics
	}
	return f
}
