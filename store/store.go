package store

import (
	"sync/atomic"

	"github.com/flyball-io/flyball/internal/heap"
	"github.com/flyball-io/flyball/internal/overdue"
	"github.com/flyball-io/flyball/internal/turn"
	"github.com/flyball-io/flyball/object"
)

// Store is a Core that goroutines share. Reads take a Snapshot and never wait. Changes are
// made in a Txn, of which there is one at a time; indexes can be added and removed at any moment,
// also while a Txn is open. Use New.
type Store struct {
	// Whoever waits for one of these may wait for a function of a user, for a second.
	writer  *turn.Mutex // held while a Txn is open
	mu      *turn.Mutex // held during one call on core
	core    *Core
	current atomic.Pointer[Snapshot]
	bounded bounded // belongs to whoever has mu
}

// New returns an empty store that has not synced.
func New(opts Options) *Store {
	s := &Store{core: NewCore(opts), writer: turn.New(), mu: turn.New()}
	s.core.bounded = s.ask
	s.bounded.watch = overdue.New(s.overran)
	s.current.Store(s.core.Snapshot())
	return s
}

// Snapshot is the state published last. It never changes and may be held for as long as wanted: it keeps
// the memory of what it shows, and not of what came later.
func (s *Store) Snapshot() *Snapshot { return s.current.Load() }

// Look calls f with the entry under key of the state published last, set aside or not, and reports
// whether there is one. It is the cheapest way to read one object: the entry is lent, and good until
// f returns; what is got of it may be kept, it itself as Compact.
func (s *Store) Look(key object.Key, f func(*Entry)) (found bool) {
	snap := s.Snapshot()
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

// do runs one step of the core and publishes what came of it.
func (s *Store) do(step func(*Core)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	step(s.core)
	s.current.Store(s.core.Snapshot())
}

// AddIndex adds a named index and builds it over what is there. The function is run in this goroutine,
// without holding up the writer; until it has been asked about all there is, also about what changes
// meanwhile, reads of the index are an *IndexPendingError.
//
// Objects on which the function fails are set aside as they are found, and the next Commit reports that.
//
// Errors: *IndexExistsError if the name is taken; ErrBadIndex if the name is empty or by is nil.
func (s *Store) AddIndex(name string, by Indexer) error {
	d := newDefinition(name, by)
	var err error
	var late *pending
	s.do(func(c *Core) {
		err = c.addIndex(d)
		late = d.late
	})
	if err == nil {
		s.catchUp(d, late, func() bool { return false })
	}
	return err
}

// RemoveIndex removes an index. Snapshots taken before go on having it. Objects that it had set
// aside stay so until they change. The error is *UnknownIndexError if there is none of that name.
func (s *Store) RemoveIndex(name string) error {
	var err error
	s.do(func(c *Core) { err = c.RemoveIndex(name) })
	return err
}

// Stats counts what a store holds and has refused.
type Stats struct {
	Objects int
	// Bytes is the length of all objects as they came over the wire.
	Bytes int64
	// Held is the memory that the store takes for them, in bytes: what lies outside the Go heap, and
	// an estimate of what lies in it.
	Held int64
	// OffHeap is the part of Held that lies outside the Go heap: GOMEMLIMIT and GOGC do not count it.
	OffHeap int64
	// Dropped is the part of Held that the present state does not have: it goes back when the garbage
	// collector has found that no older snapshot has it.
	Dropped int64
	// Templates is how many objects others are held as their difference from.
	Templates int
	// SetAside is how many of Objects cannot be used.
	SetAside int
	// StaleIgnored is how many states and deletions were older than what was known.
	StaleIgnored uint64
}

// Stats counts, as of the state published last.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.core
	snap := c.published
	st := Stats{
		Objects: snap.Len(), Bytes: snap.bytes, SetAside: snap.aside, StaleIgnored: c.stale,
		Templates: c.packing.templates(),
	}
	h := c.heap.Stats()
	st.OffHeap, st.Dropped = h.Mapped, h.Dropped
	const slot = 4 + 6 // in the table of records and in a sorted tree
	st.Held = h.Held + c.packing.held + int64(snap.Len()*slot)
	for i := range snap.indexes {
		st.Held += int64(snap.Len()*(8+6) + snap.indexes[i].found.tree.Len()*160)
	}
	return st
}

// Txn changes a store: readers see all of it at once, after Commit, or nothing. It is for one
// goroutine, and must be ended by Commit or Discard; after that its methods do nothing.
type Txn struct {
	s *Store
}

// Begin opens a transaction. While another one is open it waits for the end of that.
func (s *Store) Begin() *Txn {
	s.writer.Lock()
	s.do((*Core).Begin)
	return &Txn{s}
}

func (t *Txn) do(step func(*Core)) {
	if t.s == nil {
		return
	}
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	step(t.s.core)
}

// Passed says that incarnations of one name came and went before what is Put or Deleted next: its
// Change then names them. That of the Change's Old may be among them.
func (t *Txn) Passed(in *object.Incarnations) { t.do(func(c *Core) { c.Passed(in) }) }

// Put stores a state of an object, under the key of its header.
//
// For one uid the store never goes back: an older state is ignored and counted. A state of the
// version that is held changes nothing, unless it says something else ([wire.Same]), or the one held
// was set aside and this one is not.
// Versions that are not numbers are not compared: the later Put wins. A state with another uid
// than the one held is a replacement: one Change with two uids.
func (t *Txn) Put(e *Entry) { t.do(func(c *Core) { c.Put(e) }) }

// Delete takes out an object. last is its final state, with the version of the deletion; nil if
// the deletion was not seen, which makes the Change Missed.
//
// The deletion of an incarnation before the one held is ignored and counted. If nothing is held
// under key, the object came and went between two takes: that is reported, unless the deletion is
// no newer than what was committed before, and so old news.
func (t *Txn) Delete(key object.Key, last *Entry) { t.do(func(c *Core) { c.Delete(key, last) }) }

// Resync reports an object that did not change, if it is there and has no other Change in this
// transaction.
func (t *Txn) Resync(key object.Key) { t.do(func(c *Core) { c.Resync(key) }) }

// ReportUnchanged makes every later Put of the version that is held a Resync change.
func (t *Txn) ReportUnchanged() { t.do((*Core).ReportUnchanged) }

// Replace opens a relist: what is Put from here on until Sweep is the list. The transaction may
// stay open for as long as the list takes; readers see the state before it. If the list breaks
// off, Discard. A Commit before Sweep discards too.
func (t *Txn) Replace() { t.do(func(c *Core) { c.Replace(false) }) }

// Reset opens a relist from a server that went back in time: each object counts as listed, also
// where it is older than what is held, and each is reported, with Change.Reset, whether it
// changed or not.
func (t *Txn) Reset() { t.do(func(c *Core) { c.Replace(true) }) }

// Sweep closes a relist as whole: what was not listed is deleted, as Missed. Without a relist it
// does nothing. Commit next: what is Put after Sweep counts as part of the same list.
func (t *Txn) Sweep() { t.do((*Core).Sweep) }

// Commit publishes the new state and ends the transaction. It returns one Change for each key
// that differs, or was resynced, or came and went: in the order in which the keys were first
// touched, and after a relist deletions before everything else. First of all come the objects
// that AddIndex set aside since the last Commit. The changes of the first relist are Initial.
func (t *Txn) Commit() Changes {
	if t.s == nil {
		return Changes{}
	}
	var changes Changes
	t.s.do(func(c *Core) { changes = c.Commit() })
	t.end()
	heap.Relieve()
	return changes
}

// Discard ends the transaction without a trace.
func (t *Txn) Discard() {
	if t.s == nil {
		return
	}
	t.do((*Core).Discard)
	t.end()
}

func (t *Txn) end() {
	s := t.s
	t.s = nil
	s.writer.Unlock()
}
