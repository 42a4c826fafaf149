package store

import (
	"math"
	"runtime"
	"sync"

	"github.com/flyball-io/flyball/internal/heap"
)

// View is a Snapshot for a short while: until Release, which is to be called once, and before long:
// no record that goes in between is given back. It is the cheapest way to read.
type View struct {
	*Snapshot
	hold heap.Guard
}

// Release ends the view: its Snapshot must not be used any more. Entries that were read stay.
func (v *View) Release() {
	v.Snapshot = nil
	v.hold.Release()
}

// takers are the snapshots that someone may hold for long, by version. The garbage collector says
// when nobody does any more.
type takers struct {
	mu       sync.Mutex
	versions map[uint64]struct{}
}

// take notes that somebody may hold s from now on.
func (t *takers) take(s *Snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.taken.Load() {
		return
	}
	if t.versions == nil {
		t.versions = map[uint64]struct{}{}
	}
	t.versions[s.version] = struct{}{}
	runtime.AddCleanup(s, t.drop, s.version)
	s.taken.Store(true)
}

func (t *takers) drop(version uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.versions, version)
}

// oldest is the version of the oldest that is held; the highest number if none is.
func (t *takers) oldest() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := uint64(math.MaxUint64)
	for v := range t.versions {
		first = min(first, v)
	}
	return first
}
