package store

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/cow"
	"github.com/flyball-io/flyball/internal/heap"
	"github.com/flyball-io/flyball/object"
)

// Options configure a store. The zero value works.
type Options struct {
	// Resource names the kind in errors.
	Resource schema.GroupResource
	// ClusterScoped says that objects of the kind have no namespace. It holds for an empty store: else the
	// objects show it, since the definition of a kind can be made anew with another scope.
	ClusterScoped bool
	// Recycle receives the bytes of entries that were Put, once they are packed. A caller that sets
	// it must not use entries after Put. Bytes of an entry that a foreign Indexer saw are not
	// passed to it. Nil leaves all bytes to the garbage collector.
	Recycle func([]byte)
	// GoHeap keeps the records in the Go heap, where GOMEMLIMIT and GOGC count them. By default
	// they are outside it where the system allows that: see Stats.OffHeap.
	GoHeap bool
	// OnOverdue is called once for each call of an index function that has run for a second, on a
	// goroutine of its own. It must not write to the store. Nil reports nothing.
	OnOverdue func(index string, key object.Key, began time.Time)
	// OnRejected is called when an index function failed on objects outside a transaction and rejected
	// them. The next Commit reports them. Nil reports nothing.
	OnRejected func()
	check      checker
}

// checker compares records with their sources, in tests.
type checker interface {
	put(b, raw []byte, e *Entry)
	drop(chunks heap.Chunks, p heap.Place)
	all(c *core)
}

// core is the store without its locks: the published Snapshot, and at most one open transaction.
// Store wraps it and documents each call; see Txn. A change needs an open transaction. A core is for one goroutine at a time. Its
// Snapshots are for any number of goroutines, without a time limit.
type core struct {
	opts      Options
	heap      *heap.Heap
	packing   packing
	published *Snapshot
	txn       *transaction
	reusable  *transaction // maps and slices of the last transaction, for reuse
	slots     uint32       // number of slots in use or free
	free      []uint32     // the free list of slots
	// rejections are the Changes of objects that AddIndex or a late index function rejected. The
	// next Commit reports them.
	rejections []Change
	// high is the highest resourceVersion of any committed state, since the last reset.
	high        version
	stale       uint64
	buf, packed []byte // buffers for the current record
	key         []byte // buffer for the current key
	peeked      Entry  // see peek
	content     []byte // buffer for the object that is compared; see sameContent
	terms       []terms
	// bounded calls a user's index function with a time limit. Nil waits without a limit.
	bounded func(d *definition, e *Entry) (answer, *boundedCall)
}

// newCore returns an empty store.
func newCore(opts Options) *core {
	c := &core{opts: opts}
	c.heap = c.newHeap()
	c.published = &Snapshot{state: state{hints: newSlotTable()}, opts: &c.opts}
	return c
}

func (c *core) newHeap() *heap.Heap {
	return heap.New(heap.Options{GoHeap: c.opts.GoHeap, Poison: c.opts.check != nil})
}

// Snapshot returns the state published last.
func (c *core) Snapshot() *Snapshot { return c.published }

// Begin opens a transaction and discards one that is open.
func (c *core) Begin() {
	c.Discard()
	w := c.reusable
	if c.reusable = nil; w == nil {
		w = &transaction{bySlot: map[uint32]int{}, deleted: map[object.Key]uint32{}, unseen: map[object.Key]int{}, uses: map[uint32]int32{}}
	}
	w.state, w.owner, w.high = c.published.fork(), new(cow.Owner), c.high
	c.txn = w
}

// Discard drops the open transaction, if there is one.
func (c *core) Discard() {
	w := c.txn
	if w == nil {
		return
	}
	c.txn = nil
	c.packing.undo(w)
	if w.firstList { // the store was empty
		c.heap, w.written = c.newHeap(), nil
		c.slots, c.free, w.takenSlots = 0, nil, nil
	}
	c.drop(w.written)
	c.free = append(c.free, w.takenSlots...)
}

// drop frees records that no later state uses. Older snapshots keep them.
func (c *core) drop(places []heap.Place) {
	for _, p := range places {
		if c.opts.check != nil {
			c.opts.check.drop(c.heap.Chunks(), p)
		}
		c.heap.Free(p)
	}
}

// Replace opens a relist within the transaction; see Txn.Replace.
func (c *core) Replace(reset bool) {
	w := c.txn
	w.relisting, w.listed, w.reset = true, nil, reset
	w.firstList = w.firstList || !c.published.synced && c.published.Len() == 0 && !w.dirty && len(w.pending) == 0 && !reset
	if reset {
		w.high = version{}
	}
}

// Put is Txn.Put.
func (c *core) Put(e *Entry) {
	w := c.txn
	var before *Entry // the state that e follows
	slot, had := c.txn.find(e.key)
	unconditional := false // skip the comparison with the stored state
	if w.relisting {
		unconditional = w.reset && !(had && w.listed.has(slot))
	}
	listed := func(slot uint32) {
		if w.relisting {
			w.listed.add(slot)
		}
	}
	var held *Entry // the entry in the slot
	verdict := newer
	if had {
		listed(slot)
		held = c.peek(slot)
		before = held
		verdict = compareStates(held, e)
	} else if at, ok := c.pendingOf(e.key); ok { // deleted in this transaction
		before = w.pending[at].final(c.published)
		if compareStates(before, e) == stale {
			verdict = stale
		}
	}
	if !unconditional {
		if verdict == same && !c.sameContent(slot, held, e) {
			verdict = newer
		}
		switch verdict {
		case stale:
			c.stale++
			return
		case same:
			c.recycle(e)
			return
		}
	}
	e, terms := c.ask(held, e)
	if had && !unconditional && e.rejected != nil {
		if compareStates(held, e) == same {
			return // it was rejected before, and its index still fails
		}
	}
	if !had {
		slot = c.slotFor(e.key)
		listed(slot)
	}
	_, changed := w.bySlot[slot]
	implied := w.firstList && !had && len(w.unseen) == 0 && !changed
	stored := c.write(slot, e, !implied && len(w.pending) < maxNewest)
	if !had {
		w.keys.Insert(w.owner, slot, w.probe(c.keyOf(e.key)))
		if e.key.Namespace == "" {
			w.bare++
		}
	}
	inUse := c.index(slot, terms)
	m := e.meta()
	w.high.raise(&m)
	if !inUse {
		defer c.recycle(e)
	}
	if implied {
		return
	}
	n := c.pendingAt(slot, e.key)
	n.flags, n.newest, n.last = n.flags&changeReset|w.commonFlags(), stored, nil
	c.addEnded(n, before, e)
}

// recycle returns the bytes of an entry that was Put, once it is packed or ignored. It does nothing
// if an Indexer may have kept the entry.
func (c *core) recycle(e *Entry) {
	if c.opts.Recycle != nil && e.raw != nil && !e.shown {
		c.opts.Recycle(e.raw)
		e.raw = nil
	}
}

// maxNewest is how many new entries a transaction keeps in memory. Others are loaded when needed.
const maxNewest = 512

// peek returns the entry of a slot, for comparison. It is valid until the next Put, Delete or peek.
func (c *core) peek(slot uint32) *Entry {
	if a := c.txn.rejected.Get(slot); a != nil {
		return a
	}
	c.txn.record(slot, func(_, t uint32, r record) {
		c.peeked.record, c.peeked.template = append(c.peeked.record[:0], r...), c.txn.templates.Get(t)
	})
	return &c.peeked
}

// keyOf returns the sort key of an object key. They are valid until the next call.
func (c *core) keyOf(key object.Key) []byte {
	c.key = appendKey(c.key[:0], key)
	return c.key
}

// Delete is Txn.Delete.
func (c *core) Delete(key object.Key, last *Entry) {
	w := c.txn
	var held *Entry
	slot, had := c.txn.find(key)
	if !had {
		c.deleteUnseen(key, last)
		return
	}
	if last != nil {
		m := last.meta()
		w.high.raise(&m)
		held = c.peek(slot)
		was := held.meta()
		if !sameUID(&was, &m) && compareByVersion(&was, &m) == stale {
			c.stale++ // an incarnation older than the stored one
			return
		}
		last = c.packLast(slot, last)
	}
	c.remove(slot, key, last, held)
}

// addEnded adds the incarnation of before to a pending change, if the state that follows it is of
// another one. It leaves out those that the Change shows: the published one, and e.
func (c *core) addEnded(n *pendingChange, before, e *Entry) {
	n.passed = endedBetween(n.passed, before, nil, e)
	if n.passed == nil {
		return
	}
	if old := c.published.entry(n.slot, nil); old != nil && !n.unseen {
		n.passed = n.passed.Without(old.UID())
	}
	c.txn.full = c.txn.full || n.passed.Full()
}

// packLast returns the final state of an object, packed, so that callers may hold it for long.
func (c *core) packLast(slot uint32, last *Entry) *Entry {
	var t *template
	c.txn.record(slot, func(_, id uint32, _ record) { t = c.txn.templates.Get(id) })
	return c.packing.packUnstored(last, t)
}

// remove deletes a stored object.
func (c *core) remove(slot uint32, key object.Key, last, before *Entry) {
	w := c.txn
	missed := last == nil
	if _, changed := w.bySlot[slot]; missed && (changed || c.published.records.Get(slot) == 0) {
		last = w.load(slot, &key) // the published entry is another one
	}
	for i := range w.indexes {
		w.indexes[i].set(&w.state, w.owner, slot, nil)
	}
	w.keys.Delete(w.owner, w.probe(c.keyOf(key)))
	if key.Namespace == "" {
		w.bare--
	}
	c.supersede(slot)
	w.records.Set(w.owner, slot, 0)
	w.deleted[key] = slot
	w.dirty = true
	n := c.pendingAt(slot, key)
	n.flags, n.newest, n.last = n.flags&changeReset|changeDeleted|w.commonFlags(), nil, last
	c.addEnded(n, before, last)
	if missed {
		n.flags |= changeMissed
	}
}

// deleteUnseen reports an object that came and went. It ignores a deletion older than the last
// commit.
func (c *core) deleteUnseen(key object.Key, last *Entry) {
	w := c.txn
	if last == nil {
		return
	}
	if at, ok := c.pendingOf(key); ok {
		n := &w.pending[at]
		final := n.final(c.published)
		was, is := final.meta(), last.meta()
		if compareByVersion(&was, &is) == newer {
			c.addEnded(n, final, last)
			n.last, n.flags = c.packing.packUnstored(last, nil), n.flags&^changeMissed
		}
		return
	}
	// Within a transaction keys are not in the order of the stream; between transactions they are.
	m := last.meta()
	if c.high.covers(&m) {
		c.stale++
		return
	}
	w.high.raise(&m)
	w.unseen[key] = len(w.pending)
	w.pending = append(w.pending, pendingChange{unseen: true, flags: changeDeleted | w.commonFlags(), last: c.packing.packUnstored(last, nil)})
}

// pendingOf returns the pending change of a key that is not stored.
func (c *core) pendingOf(key object.Key) (at int, ok bool) {
	w := c.txn
	if slot, deleted := w.deleted[key]; deleted {
		at, ok = w.bySlot[slot]
		return at, ok
	}
	at, ok = w.unseen[key]
	return at, ok
}

// pendingAt returns the pending change of a slot and its key. It adds one if there is none.
func (c *core) pendingAt(slot uint32, key object.Key) *pendingChange {
	w := c.txn
	if at, ok := w.bySlot[slot]; ok {
		return &w.pending[at]
	}
	if at, ok := w.unseen[key]; ok {
		delete(w.unseen, key)
		w.bySlot[slot] = at
		w.pending[at].slot, w.pending[at].unseen = slot, false
		return &w.pending[at]
	}
	w.bySlot[slot] = len(w.pending)
	w.pending = append(w.pending, pendingChange{slot: slot})
	return &w.pending[len(w.pending)-1]
}

// final returns the last state of a deleted object.
func (n *pendingChange) final(published *Snapshot) *Entry {
	if n.last != nil {
		return n.last
	}
	return published.load(n.slot, nil)
}

// Sweep is Txn.Sweep.
func (c *core) Sweep() {
	w := c.txn
	if !w.relisting {
		return
	}
	var unlisted []uint32
	for slot := range w.keys.All() {
		if !w.listed.has(slot) {
			unlisted = append(unlisted, slot)
		}
	}
	for _, slot := range unlisted {
		c.remove(slot, keyString(w.key(nil, slot)), nil, nil)
	}
	w.listed, w.relisting, w.complete, w.reset = nil, false, true, false
}

// Commit is Txn.Commit.
func (c *core) Commit() Changes {
	w := c.txn
	changes := Changes{rejections: c.rejections}
	c.rejections = nil
	if w == nil || w.relisting {
		c.Discard()
		return changes
	}
	if w.complete {
		slices.SortStableFunc(w.pending, func(a, b pendingChange) int { return deletionsFirst(a) - deletionsFirst(b) })
	}
	changes.pending, changes.was = w.pending, c.published
	changes.initial = w.complete && !c.published.synced
	changes.allNew = w.firstList && w.complete
	if w.dirty || w.complete {
		c.packing.countUsers(w)
		c.drop(w.superseded)
		c.heap.Tidy(mover{w})
		w.chunks = c.heap.Chunks()
		c.publish(w.state, c.published.synced || w.complete)
		if w.complete {
			c.published.fillHints()
			c.releaseBuffers()
		}
		for _, slot := range w.deleted {
			c.free = append(c.free, slot)
		}
	}
	c.txn = nil
	changes.is = c.published
	c.high = w.high
	c.reusable = w.reuse()
	if c.opts.check != nil {
		c.opts.check.all(c)
	}
	return changes
}

func deletionsFirst(n pendingChange) int {
	if n.flags&changeDeleted != 0 {
		return 0
	}
	return 1
}

func (c *core) publish(s state, synced bool) {
	s.hints.fit(s.keys.Len())
	c.published = &Snapshot{state: s, opts: &c.opts, version: c.published.version + 1, synced: synced}
}
