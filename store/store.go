package store

import (
	"sync/atomic"

	"github.com/flyball-io/flyball/internal/heap"
	"github.com/flyball-io/flyball/internal/lock"
	"github.com/flyball-io/flyball/internal/overdue"
	"github.com/flyball-io/flyball/object"
)

// Store is for any number of goroutines. Reads take a Snapshot and never wait. Changes are made in a
// Txn; one Txn is open at a time. Indexes can be added and removed at any moment, also while a Txn is
// open. Use New.
type Store struct {
	// Waiting for one of these locks may mean waiting up to a second for a user's index function.
	writer  *lock.Mutex // write lock: held while a Txn is open
	mu      *lock.Mutex // held during one call on core
	core    *core
	current atomic.Pointer[Snapshot]
	bounded bounded // guarded by mu
}

// New returns an empty store that has not synced.
func New(opts Options) *Store {
	s := &Store{core: newCore(opts), writer: lock.New(), mu: lock.New()}
	s.core.bounded = s.ask
	s.bounded.watch, s.bounded.ready = overdue.New(overdue.After, s.onOverrun), make(chan struct{}, 1)
	s.current.Store(s.core.Snapshot())
	return s
}

// Snapshot returns the state published last. It never changes and may be held without a time limit.
// It keeps the memory of the objects it shows, not of later ones.
func (s *Store) Snapshot() *Snapshot { return s.current.Load() }

// Look calls f with the entry under key in the state published last, rejected or not. It reports
// whether there is one. Look is the cheapest way to read one object. The entry is lent: it is valid
// until f returns. Values read from it may be kept. To keep the entry itself, call Compact.
func (s *Store) Look(key object.Key, f func(*Entry)) (found bool) {
	snap := s.Snapshot()
	if snap.ClusterScoped() {
		key.Namespace = ""
	}
	slot, ok := snap.find(key)
	if !ok {
		return false
	}
	if e := snap.rejected.Get(slot); e != nil {
		f(e)
		return true
	}
	snap.lend(slot, func(e *Entry) {
		e.key = key
		f(e)
	})
	return true
}

// do runs one step of the core and publishes the result.
func (s *Store) do(step func(*core)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	step(s.core)
	s.current.Store(s.core.Snapshot())
}

// AddIndex adds a named index and builds it over the stored objects. The function runs in the
// caller's goroutine and does not block the writer. Until the index covers every object, changes in
// the meantime included, reads of it return an *IndexPendingError.
//
// An object on which the function fails is rejected at once. The next Commit reports it.
//
// Errors: *IndexExistsError if the name is taken; ErrBadIndex if the name is empty or by is nil.
func (s *Store) AddIndex(name string, by Indexer) error {
	d := newDefinition(name, by)
	var err error
	var pending *pendingIndex
	s.do(func(c *core) {
		err = c.addIndex(d)
		pending = d.pending
	})
	if err == nil {
		s.catchUp(d, pending, func() bool { return false })
	}
	return err
}

// RemoveIndex removes an index. Earlier snapshots keep it. Objects that the index rejected stay
// rejected until they change. The error is *UnknownIndexError if there is no index of that name.
func (s *Store) RemoveIndex(name string) error {
	var err error
	s.do(func(c *core) { err = c.RemoveIndex(name) })
	return err
}

// Stats counts what a store holds and what it ignored.
type Stats struct {
	Objects int
	// Bytes is the length of all objects as received from the server.
	Bytes int64
	// Held is the memory of the objects in bytes: the part outside the Go heap, and an estimate of
	// the part inside.
	Held int64
	// OffHeap is the part of Held that lies outside the Go heap: GOMEMLIMIT and GOGC do not count it.
	OffHeap int64
	// Dropped is the part of Held that the published state no longer uses. It is returned when the
	// garbage collector finds that no older snapshot uses it.
	Dropped int64
	// Templates is the number of objects that others are stored as a difference from.
	Templates int
	// Rejected is the number of Objects that are rejected.
	Rejected int
	// StaleIgnored is the number of states and deletions older than the stored ones.
	StaleIgnored uint64
}

// Stats returns figures of the state published last.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.core
	snap := c.published
	st := Stats{
		Objects: snap.Len(), Bytes: snap.bytes, Rejected: snap.unindexed.Len(), StaleIgnored: c.stale,
		Templates: c.packing.templates(),
	}
	h := c.heap.Stats()
	st.OffHeap, st.Dropped = h.Mapped, h.Dropped
	const slot = 4 + 6 // bytes a slot, in the table of records and in a sorted tree
	st.Held = h.Held + c.packing.held + int64(snap.Len()*slot)
	for i := range snap.indexes {
		st.Held += int64(snap.Len()*(8+6) + snap.indexes[i].found.tree.Len()*120)
	}
	return st
}

// Txn changes a store. Readers see all of its changes at once, after Commit, or none. A Txn is for
// one goroutine. It must end with Commit or Discard; after that its methods do nothing.
type Txn struct {
	s *Store
}

// Begin opens a transaction. It waits while another one is open.
func (s *Store) Begin() *Txn {
	s.writer.Lock()
	s.do((*core).Begin)
	return &Txn{s}
}

// do reports whether the transaction is full.
func (t *Txn) do(step func(*core)) (full bool) {
	if t.s == nil {
		return false
	}
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	step(t.s.core)
	w := t.s.core.txn
	return w != nil && w.full
}

// Put stores a state of an object, under the key of its header.
//
// For one uid the store never goes back: an older state is ignored and counted. A state of the
// stored version changes nothing, with two exceptions: its content differs ([wire.Same]), or the
// stored one is rejected and this one is not. Versions that are not numbers are not compared: the
// later Put wins. A state with another uid than the stored one is a replacement: one Change with
// two uids.
//
// It reports whether a change of the transaction names as many incarnations as it can. A caller that
// commits then loses no name; see Change.Unseen.
func (t *Txn) Put(e *Entry) (full bool) { return t.do(func(c *core) { c.Put(e) }) }

// Delete removes an object. last is its final state, with the version of the deletion. A nil last
// means the deletion was not seen, and makes the Change Missed.
//
// A deletion of an incarnation older than the stored one is ignored and counted. If no object is
// stored under key, the object came and went between two transactions. The deletion is then
// reported, unless it is no newer than the last committed version. The result is that of Put.
func (t *Txn) Delete(key object.Key, last *Entry) (full bool) {
	return t.do(func(c *core) { c.Delete(key, last) })
}

// Replace opens a relist: the Puts until Sweep are the list. The transaction may stay open for as
// long as the list takes; readers see the state before it. If the list fails, call Discard. A
// Commit before Sweep discards too.
func (t *Txn) Replace() { t.do(func(c *core) { c.Replace(false) }) }

// Reset opens a relist from a server that went back in time. Each listed object is stored, also
// where it is older than the stored one. Each is reported with Change.Reset, whether it changed or
// not.
func (t *Txn) Reset() { t.do(func(c *core) { c.Replace(true) }) }

// Sweep closes a complete relist: objects that were not listed are deleted, as Missed. Without a
// relist it does nothing. Commit comes next: a Put after Sweep counts as part of the same list.
func (t *Txn) Sweep() { t.do((*core).Sweep) }

// Commit publishes the new state and ends the transaction. It returns one Change for each key that
// differs, or came and went. Changes are in the order in which the keys were first
// touched. After a relist deletions come before all others. Objects that AddIndex rejected since
// the last Commit come first of all. The changes of the first relist are Initial.
func (t *Txn) Commit() Changes {
	if t.s == nil {
		return Changes{}
	}
	var changes Changes
	t.s.do(func(c *core) { changes = c.Commit() })
	t.end()
	heap.Relieve()
	return changes
}

// Discard ends the transaction and leaves no trace.
func (t *Txn) Discard() {
	if t.s == nil {
		return
	}
	t.do((*core).Discard)
	t.end()
}

func (t *Txn) end() {
	s := t.s
	t.s = nil
	s.writer.Unlock()
}
