package store

import (
	"math"
	"runtime"
	"sync"

	"github.com/flyball-io/flyball/internal/heap"
	"github.com/flyball-io/flyball/object"
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

// Look calls f with the entry under key of the state published last, set aside or not, and reports
// whether there is one. It is the cheapest way to read one object: the entry is lent, and good until
// f returns; what is got of it may be kept, it itself as Compact. f should not take long: until it
// returns the memory that compaction frees is not given back.
func (s *Store) Look(key object.Key, f func(*Entry)) (found bool) {
	pin := s.core.heap.Pin()
	defer pin.Release()
	snap := s.current.Load() // after the Pin, so that it keeps the records
	if snap.opts.ClusterScoped {
		key.Namespace = ""
	}
	slot, ok := snap.find(key)
	if !ok {
		return false
	}
	if e := snap.asides.Get(slot); e != nil {
		f(e)
		return true
	}
	snap.lend(slot, func(e *Entry) {
		e.key = key
		f(e)
	})
	return true
}

// loan is an entry that is lent, and memory to unpack it into.
type loan struct {
	entry   Entry
	scratch []byte
}

var loans = sync.Pool{New: func() any { return new(loan) }}

// lend calls f with the entry of a slot that was not set aside. There is a Pin.
func (s *state) lend(slot uint32, f func(*Entry)) {
	l := loans.Get().(*loan)
	kind, template, r := s.stored(slot)
	l.entry = Entry{record: r, kind: s.kinds[kind], template: s.templates.Get(template), lent: l}
	f(&l.entry)
	l.entry = Entry{} // whoever kept it finds out
	loans.Put(l)
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
