package informer

import (
	"fmt"

	"github.com/flyball-io/flyball/delta"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/store"
)

// State is where an informer stands. It is a copy.
type State struct {
	// Watch is where the list and watch stand, and what is wrong with them, if anything is.
	Watch reflector.State
	// Err is Watch.Err: what keeps the watch from working at present, nil if nothing is known to.
	Err error
	// Synced is set once the first full list is in the store, and stays.
	Synced bool
	// Objects is the number of objects in the store, those set aside included.
	Objects int
	// SetAside is the number of objects that cannot be used at present.
	SetAside int
	// Unavailable is the error of reads while the kind is unavailable, an *UnavailableError; else nil.
	Unavailable error
}

// String is one line for a person: "synced", "forbidden: list secrets: …".
func (s State) String() string {
	text := s.Watch.Phase.String()
	if s.Err != nil {
		text += ": " + s.Err.Error()
	}
	if s.SetAside > 0 {
		text += fmt.Sprintf(" (%d of %d objects set aside)", s.SetAside, s.Objects)
	}
	return text
}

// State says where the informer stands.
func (in *Informer) State() State {
	s := State{Watch: in.watch.State(), Synced: in.HasSynced(), Objects: in.store.Snapshot().Len(), Unavailable: in.Unavailable()}
	s.Err = s.Watch.Err
	in.mu.Lock()
	defer in.mu.Unlock()
	s.SetAside = len(in.asides)
	return s
}

// Synced is closed when the first full list is in the store.
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

// Figures count what an informer holds and has done.
type Figures struct {
	Store store.Stats
	// Queue is what waits between the watch and the store.
	Queue delta.Stats
	// Handlers adds up those who are registered now, handlers and sources; Oldest is the longest.
	Handlers Stats
	// Budget is how Options.Budget and what is held of it compare, by all informers that share it.
	Budget BudgetState
	// Audit counts the audits of the watch.
	Audit AuditStats
}

// Figures returns the present ones.
func (in *Informer) Figures() Figures {
	f := Figures{Store: in.store.Stats(), Queue: in.fifo.Stats(), Budget: in.o.Budget.State(), Audit: in.audits.figures()}
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
