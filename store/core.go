package store

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/object"
)

// Options of a store. The zero value works.
type Options struct {
	// Resource names the kind in errors.
	Resource schema.GroupResource
	// ClusterScoped says that objects of the kind have no namespace: reads by key then ignore the
	// namespace of the key.
	ClusterScoped bool
}

// Core is the store without its lock: the published Snapshot, and at most one open transaction.
// Store wraps it and says what each call means; see Txn. It is for one goroutine at a time, but
// the Snapshots it gives out are for any number.
type Core struct {
	opts      Options
	published *Snapshot
	work      *work
	// touched is the index of work.changes; kept here to be used again.
	touched map[object.Key]int
	// asides are changes made by AddIndex, which the next Commit reports.
	asides []Change
	// high is the highest resourceVersion of any state committed, since the last reset.
	high  string
	stale uint64
}

// work is an open transaction.
type work struct {
	state
	changes []Change
	high    string
	dirty   bool // state differs from what is published
	// Of a relist: the keys listed so far (nil outside of one), whether it was whole, whether the
	// server went back, and whether what did not change is to be reported too.
	listed    map[object.Key]struct{}
	whole     bool
	reset     bool
	unchanged bool
}

// NewCore returns an empty store.
func NewCore(opts Options) *Core {
	c := &Core{opts: opts, touched: map[object.Key]int{}}
	c.published = &Snapshot{state: newState(), opts: &c.opts}
	return c
}

// Snapshot is the state published last.
func (c *Core) Snapshot() *Snapshot { return c.published }

// Begin opens a transaction and discards one that is open.
func (c *Core) Begin() {
	c.Discard()
	c.work = &work{state: c.published.fork(), high: c.high}
}

// Discard gives up the open transaction, if there is one.
func (c *Core) Discard() {
	c.work = nil
	if len(c.touched) > 1024 {
		c.touched = map[object.Key]int{} // a map never shrinks
	}
	clear(c.touched)
}

// Replace opens a relist within the transaction; see Txn.Replace.
func (c *Core) Replace(reset bool) {
	if w := c.work; w != nil {
		w.listed, w.reset = map[object.Key]struct{}{}, reset
		if reset {
			w.high = ""
		}
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
	key := e.header.Key
	old, had := w.get(key)
	anew := false // what was known before is not compared
	if w.listed != nil {
		_, listed := w.listed[key]
		anew = w.reset && !listed
		w.listed[key] = struct{}{}
	}
	at, touched := c.touched[key]
	switch {
	case anew:
	case had:
		switch judge(old.entry, e) {
		case stale:
			c.stale++
			return
		case same:
			c.unchanged(old.entry)
			return
		}
	case touched && judge(w.changes[at].Last, e) == stale: // deleted in this transaction
		c.stale++
		return
	}
	e, t := termsOf(w.indexes, e, old.terms)
	if had && !anew && e.aside != nil && judge(old.entry, e) == same {
		c.unchanged(old.entry) // it was set aside, and its index still fails
		return
	}
	w.set(old, record{key: key, entry: e, terms: t})
	w.dirty = true
	w.saw(&e.header)
	c.note(Change{Key: key, Old: old.entry, New: e, Reset: w.reset})
}

// unchanged reports an object that is as it was, if that was asked for.
func (c *Core) unchanged(e *Entry) {
	if c.work.unchanged {
		c.Resync(e.header.Key)
	}
}

// Resync is Txn.Resync.
func (c *Core) Resync(key object.Key) {
	if c.work == nil {
		return
	}
	if _, ok := c.touched[key]; ok {
		return
	}
	if r, ok := c.work.get(key); ok {
		c.note(Change{Key: key, Old: r.entry, New: r.entry, Resync: true})
	}
}

// Delete is Txn.Delete.
func (c *Core) Delete(key object.Key, last *Entry) {
	w := c.work
	if w == nil {
		return
	}
	old, had := w.get(key)
	if !had {
		c.deleteUnseen(key, last)
		return
	}
	missed := last == nil
	if missed {
		last = old.entry // of a past that is no more, after a reset
	} else {
		w.saw(&last.header)
	}
	if !old.entry.header.Same(&last.header) && judgeVersions(old.entry, last) == stale {
		c.stale++ // an incarnation before the one that lives
		return
	}
	w.unset(old)
	w.dirty = true
	c.note(Change{Key: key, Old: old.entry, Last: last, Missed: missed, Reset: w.reset})
}

// deleteUnseen reports an object that came and went, unless that is old news.
func (c *Core) deleteUnseen(key object.Key, last *Entry) {
	if last == nil {
		return
	}
	if at, ok := c.touched[key]; ok {
		if ch := &c.work.changes[at]; judgeVersions(ch.Last, last) == newer {
			ch.Last, ch.Missed = last, false
		}
		return
	}
	// Within a transaction keys are not in the order of the stream, between transactions they are.
	if order, ok := object.CompareVersions(last.header.ResourceVersion, c.high); ok && order <= 0 {
		c.stale++
		return
	}
	c.work.saw(&last.header)
	c.note(Change{Key: key, Last: last, Reset: c.work.reset})
}

// note adds ch to the changes of the transaction. If its key changed before in it, the two are one.
func (c *Core) note(ch Change) {
	w := c.work
	at, ok := c.touched[ch.Key]
	if !ok {
		c.touched[ch.Key] = len(w.changes)
		w.changes = append(w.changes, ch)
		return
	}
	was := &w.changes[at]
	ch.Old, ch.Reset = was.Old, ch.Reset || was.Reset
	*was = ch
}

// Sweep is Txn.Sweep.
func (c *Core) Sweep() {
	w := c.work
	if w == nil || w.listed == nil {
		return
	}
	var gone []object.Key
	w.objects.tree.Scan(func(r record) bool {
		if _, ok := w.listed[r.key]; !ok {
			gone = append(gone, r.key)
		}
		return true
	})
	for _, key := range gone {
		c.Delete(key, nil)
	}
	w.listed, w.whole, w.reset = nil, true, false
}

// Commit is Txn.Commit.
func (c *Core) Commit() []Change {
	w := c.work
	changes := c.asides
	c.asides = nil
	if w == nil || w.listed != nil {
		c.Discard()
		return changes
	}
	if w.whole {
		slices.SortStableFunc(w.changes, func(a, b Change) int { return goneFirst(a) - goneFirst(b) })
		if !c.published.synced {
			for i := range w.changes {
				w.changes[i].Initial = true
			}
		}
	}
	if w.dirty || w.whole {
		c.publish(w.state, c.published.synced || w.whole)
	}
	c.high = w.high
	changes = append(changes, w.changes...)
	c.Discard()
	return changes
}

func goneFirst(c Change) int {
	if c.Deleted() {
		return 0
	}
	return 1
}

func (c *Core) publish(s state, synced bool) {
	c.published = &Snapshot{state: s, opts: &c.opts, version: c.published.version + 1, synced: synced}
}

// saw keeps the highest version seen.
func (w *work) saw(h *object.Header) {
	order, ok := object.CompareVersions(h.ResourceVersion, w.high)
	if ok && order > 0 || !ok && w.high == "" {
		w.high = h.ResourceVersion
	}
}
