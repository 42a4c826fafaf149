package store

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/cow"
	"github.com/flyball-io/flyball/internal/heap"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/pack"
)

// Options of a store. The zero value works.
type Options struct {
	// Resource names the kind in errors.
	Resource schema.GroupResource
	// ClusterScoped says that objects of the kind have no namespace: reads by key then ignore the
	// namespace of the key.
	ClusterScoped bool
	// Recycle is given the bytes of entries that were put, when they are packed: whoever sets it must
	// not use entries any more that were put. It is not given those of entries that an Indexer saw which
	// is not of this package. Nil: all are left to the garbage collector.
	Recycle func([]byte)
	// GoHeap keeps the records in the Go heap, where GOMEMLIMIT and GOGC count them. By default they are
	// outside of it where the system lets them be: see Stats.OffHeap.
	GoHeap bool
	// OnOverdue is told of a call of an index function that has run for a second, once for each, on a
	// goroutine of its own. It may not write to the store. Nil: nobody is.
	OnOverdue func(index string, key object.Key, began time.Time)
	// OnAside is told that objects were set aside outside of a transaction, since an index function
	// failed on them: the next Commit reports it. Nil: nobody is.
	OnAside func()
	// Check compares each record with what it was made of, when it is written and at random later,
	// and overwrites the memory of records that nobody has any more. It costs time and memory: for tests. The
	// build tag flyball_check turns it on everywhere.
	Check bool
}

// Core is the store without its lock: the published Snapshot, and at most one open transaction.
// Store wraps it and says what each call means; see Txn. It is for one goroutine at a time, but
// the Snapshots it gives out are for any number, and for as long as wanted.
type Core struct {
	opts      Options
	heap      *heap.Heap
	packing   packing
	published *Snapshot
	work      *work
	over      *work    // the last one, to be used again
	slots     uint32   // that were ever used
	free      []uint32 // those that are not
	// asides are changes made by AddIndex, which the next Commit reports.
	asides []Change
	// high is the highest resourceVersion of any state committed, since the last reset.
	high        version
	stale       uint64
	buf, packed []byte // of the record at hand
	key         []byte // of the object at hand
	held        Entry  // see peek
	content     []byte // of the object that is compared; see sameContent
	terms       []terms
	check       *check
	// bounded asks the index of a user, and gives up waiting for it after a while. Nil: nobody gives up.
	bounded func(d *definition, e *Entry) (answer, *asked)
}

// NewCore returns an empty store.
func NewCore(opts Options) *Core {
	c := &Core{opts: opts, packing: packing{packer: pack.Packer{MaxIndex: mostIndex}}}
	if c.opts.Check = opts.Check || alwaysCheck; c.opts.Check {
		c.check = newCheck()
	}
	c.heap = c.newHeap()
	c.published = &Snapshot{state: state{guesses: newGuesses()}, opts: &c.opts}
	return c
}

func (c *Core) newHeap() *heap.Heap {
	return heap.New(heap.Options{GoHeap: c.opts.GoHeap, Poison: c.opts.Check})
}

// Snapshot is the state published last.
func (c *Core) Snapshot() *Snapshot { return c.published }

// Begin opens a transaction and discards one that is open.
func (c *Core) Begin() {
	c.Discard()
	w := c.over
	if c.over = nil; w == nil {
		w = &work{noted: map[uint32]int{}, gone: map[object.Key]uint32{}, dead: map[object.Key]int{}, uses: map[uint32]int32{}}
	}
	w.state, w.owner, w.high = c.published.fork(), new(cow.Owner), c.high
	c.work = w
}

// Discard gives up the open transaction, if there is one.
func (c *Core) Discard() {
	w := c.work
	if w == nil {
		return
	}
	c.work = nil
	c.packing.undo(w)
	if w.first { // nothing was there before
		c.heap, w.made = c.newHeap(), nil
		c.slots, c.free, w.taken = 0, nil, nil
	}
	c.drop(w.made)
	c.free = append(c.free, w.taken...)
}

// drop frees records that no state to come has. Those before it keep them.
func (c *Core) drop(places []heap.Place) {
	for _, p := range places {
		if c.check != nil {
			c.check.drop(c.heap.Chunks(), p)
		}
		c.heap.Free(p)
	}
}

// Replace opens a relist within the transaction; see Txn.Replace.
func (c *Core) Replace(reset bool) {
	w := c.work
	if w == nil {
		return
	}
	w.relisting, w.listed, w.reset = true, nil, reset
	w.first = w.first || !c.published.synced && c.published.Len() == 0 && !w.dirty && len(w.notes) == 0 && !reset
	if reset {
		w.high = version{}
	}
}

// ReportUnchanged is Txn.ReportUnchanged.
func (c *Core) ReportUnchanged() {
	if c.work != nil {
		c.work.unchanged = true
	}
}

// Put is Txn.Put.
func (c *Core) Put(e *Entry) {
	w := c.work
	if w == nil {
		return
	}
	passed := w.takePassed()
	slot, had := c.work.find(e.key)
	anew := false // what was known before is not compared
	if w.relisting {
		anew = w.reset && !(had && w.listed.has(slot))
	}
	listed := func(slot uint32) {
		if w.relisting {
			w.listed.add(slot)
		}
	}
	var held *Entry // what the slot has
	verdict := newer
	if had {
		listed(slot)
		held = c.peek(slot)
		verdict = judge(held, e)
	} else if at, ok := c.noteOf(e.key); ok { // deleted in this transaction
		final := w.notes[at].final(c.published)
		if judge(final, e) == stale {
			verdict = stale
		}
		passed = after(final, e, passed)
	}
	if !anew {
		if verdict == same && !c.sameContent(slot, held, e) {
			verdict = newer
		}
		switch verdict {
		case stale:
			c.stale++
			return
		case same:
			c.reportUnchanged(slot)
			c.recycle(e)
			return
		}
	}
	if had {
		passed = after(held, e, passed)
	}
	e, terms := c.ask(held, e)
	if had && !anew && e.aside != nil {
		if judge(held, e) == same {
			c.reportUnchanged(slot) // it was set aside, and its index still fails
			return
		}
	}
	if !had {
		slot = c.slotFor(e.key)
		listed(slot)
	}
	_, noted := w.noted[slot]
	implied := w.first && !had && len(w.dead) == 0 && !noted
	stored := c.write(slot, e, !implied && len(w.notes) < mostFresh)
	if !had {
		w.keys.Insert(w.owner, slot, w.at(c.keyOf(e.key)))
	}
	lent := c.index(slot, terms)
	m := e.record.meta()
	w.high.see(&m)
	if !lent {
		defer c.recycle(e)
	}
	if implied {
		return
	}
	n := c.note(slot, e.key)
	n.flags, n.fresh, n.last = n.flags&noteReset|w.marks(), stored, nil
	c.pass(n, passed, e)
}

// recycle gives the bytes of an entry back that was put, and is packed or of no use, if nobody else can
// have it.
func (c *Core) recycle(e *Entry) {
	if c.opts.Recycle != nil && e.raw != nil && !e.shown {
		c.opts.Recycle(e.raw)
		e.raw = nil
	}
}

// mostFresh is how many entries a transaction keeps at hand; those of others are loaded again.
const mostFresh = 512

// peek is the entry of a slot, to be compared, until the next Put, Delete or peek.
func (c *Core) peek(slot uint32) *Entry {
	if a := c.work.asides.Get(slot); a != nil {
		return a
	}
	c.work.record(slot, func(_, _ uint32, r record) { c.held.record = append(c.held.record[:0], r...) })
	return &c.held
}

// keyOf are the bytes by which a key is sorted, until the next call.
func (c *Core) keyOf(key object.Key) []byte {
	c.key = appendKey(c.key[:0], key)
	return c.key
}

// reportUnchanged reports an object that is as it was, if that was asked for.
func (c *Core) reportUnchanged(slot uint32) {
	if c.work.unchanged {
		c.resync(slot)
	}
}

// Resync is Txn.Resync.
func (c *Core) Resync(key object.Key) {
	if c.work == nil {
		return
	}
	if slot, ok := c.work.find(key); ok {
		c.resync(slot)
	}
}

func (c *Core) resync(slot uint32) {
	w := c.work
	if _, ok := w.noted[slot]; ok || w.first {
		return
	}
	w.noted[slot] = len(w.notes)
	w.notes = append(w.notes, note{slot: slot, flags: noteResync})
}

// Delete is Txn.Delete.
func (c *Core) Delete(key object.Key, last *Entry) {
	w := c.work
	if w == nil {
		return
	}
	passed := w.takePassed()
	slot, had := c.work.find(key)
	if !had {
		c.deleteUnseen(key, last, passed)
		return
	}
	if last != nil {
		m := last.record.meta()
		w.high.see(&m)
		held := c.peek(slot)
		was := held.record.meta()
		if !sameUID(&was, &m) && judgeVersions(&was, &m) == stale {
			c.stale++ // an incarnation before the one that lives
			return
		}
		passed = after(held, last, passed)
		last = c.packLast(slot, last)
	}
	c.remove(slot, key, last, passed)
}

// Passed is Txn.Passed.
func (c *Core) Passed(in *object.Incarnations) {
	if c.work != nil {
		c.work.passed = in
	}
}

func (w *work) takePassed() *object.Incarnations {
	in := w.passed
	w.passed = nil
	return in
}

// after are the incarnations that went before e came: that of held, which e follows, and those in passed.
func after(held, e *Entry, passed *object.Incarnations) *object.Incarnations {
	if held.SameUID(e) {
		return passed
	}
	var none *object.Incarnations
	return none.Then(held.UID()).Join(passed)
}

// pass adds incarnations to a note, but for those that its Change shows: the published one, and e.
func (c *Core) pass(n *note, passed *object.Incarnations, e *Entry) {
	if passed = n.passed.Join(passed); passed == nil {
		return
	}
	if !n.unseen {
		if old := c.published.entry(n.slot, nil); old != nil {
			passed = passed.Without(old.UID())
		}
	}
	if e != nil {
		passed = passed.Without(e.UID())
	}
	n.passed = passed
}

// packLast is the final state of an object in the form in which others may hold it for long.
func (c *Core) packLast(slot uint32, last *Entry) *Entry {
	var t *template
	c.work.record(slot, func(_, id uint32, _ record) { t = c.work.templates.Get(id) })
	return c.packing.loose(last, t)
}

// remove takes out an object that is there.
func (c *Core) remove(slot uint32, key object.Key, last *Entry, passed *object.Incarnations) {
	w := c.work
	missed := last == nil
	if _, noted := w.noted[slot]; missed && (noted || c.published.records.Get(slot) == 0) {
		last = w.load(slot, &key) // not what is published
	}
	for i := range w.indexes {
		w.indexes[i].set(&w.state, w.owner, slot, nil)
	}
	w.keys.Delete(w.owner, w.at(c.keyOf(key)))
	c.leave(slot)
	w.records.Set(w.owner, slot, 0)
	w.gone[key] = slot
	w.dirty = true
	n := c.note(slot, key)
	n.flags, n.fresh, n.last = n.flags&noteReset|noteGone|w.marks(), nil, last
	c.pass(n, passed, last)
	if missed {
		n.flags |= noteMissed
	}
}

// deleteUnseen reports an object that came and went, unless that is old news.
func (c *Core) deleteUnseen(key object.Key, last *Entry, passed *object.Incarnations) {
	w := c.work
	if last == nil {
		return
	}
	if at, ok := c.noteOf(key); ok {
		n := &w.notes[at]
		final := n.final(c.published)
		was, is := final.record.meta(), last.record.meta()
		if judgeVersions(&was, &is) == newer {
			c.pass(n, after(final, last, passed), last)
			n.last, n.flags = c.packing.loose(last, nil), n.flags&^noteMissed
		}
		return
	}
	// Within a transaction keys are not in the order of the stream, between transactions they are.
	m := last.record.meta()
	if c.high.covers(&m) {
		c.stale++
		return
	}
	w.high.see(&m)
	w.dead[key] = len(w.notes)
	w.notes = append(w.notes, note{unseen: true, flags: noteGone | w.marks(), last: c.packing.loose(last, nil), passed: passed})
}

// noteOf is the note of a key that is not there.
func (c *Core) noteOf(key object.Key) (at int, ok bool) {
	w := c.work
	if slot, gone := w.gone[key]; gone {
		at, ok = w.noted[slot]
		return at, ok
	}
	at, ok = w.dead[key]
	return at, ok
}

// note is that of a slot and its key, to be changed.
func (c *Core) note(slot uint32, key object.Key) *note {
	w := c.work
	if at, ok := w.noted[slot]; ok {
		return &w.notes[at]
	}
	if at, ok := w.dead[key]; ok {
		delete(w.dead, key)
		w.noted[slot] = at
		w.notes[at].slot, w.notes[at].unseen = slot, false
		return &w.notes[at]
	}
	w.noted[slot] = len(w.notes)
	w.notes = append(w.notes, note{slot: slot})
	return &w.notes[len(w.notes)-1]
}

// final is the last state of what is gone.
func (n *note) final(published *Snapshot) *Entry {
	if n.last != nil {
		return n.last
	}
	return published.load(n.slot, nil)
}

// Sweep is Txn.Sweep.
func (c *Core) Sweep() {
	w := c.work
	if w == nil || !w.relisting {
		return
	}
	var gone []uint32
	for slot := range w.keys.All() {
		if !w.listed.has(slot) {
			gone = append(gone, slot)
		}
	}
	for _, slot := range gone {
		c.remove(slot, keyString(w.key(nil, slot)), nil, nil)
	}
	w.listed, w.relisting, w.whole, w.reset = nil, false, true, false
}

// Commit is Txn.Commit.
func (c *Core) Commit() Changes {
	w := c.work
	changes := Changes{first: c.asides}
	c.asides = nil
	if w == nil || w.relisting {
		c.Discard()
		return changes
	}
	if w.whole {
		slices.SortStableFunc(w.notes, func(a, b note) int { return goneFirst(a) - goneFirst(b) })
	}
	changes.notes, changes.was = w.notes, c.published
	changes.initial = w.whole && !c.published.synced
	changes.implied = w.first && w.whole
	if w.dirty || w.whole {
		c.packing.settle(w)
		c.drop(w.left)
		c.heap.Tidy(mover{w})
		w.chunks = c.heap.Chunks()
		c.publish(w.state, c.published.synced || w.whole)
		if w.whole {
			c.published.learn()
		}
		for _, slot := range w.gone {
			c.free = append(c.free, slot)
		}
	}
	c.work = nil
	changes.is = c.published
	c.high = w.high
	c.over = w.again()
	if c.check != nil {
		c.check.all(c)
	}
	return changes
}

func goneFirst(n note) int {
	if n.flags&noteGone != 0 {
		return 0
	}
	return 1
}

func (c *Core) publish(s state, synced bool) {
	s.guesses.fit(s.keys.Len())
	c.published = &Snapshot{state: s, opts: &c.opts, version: c.published.version + 1, synced: synced}
}
