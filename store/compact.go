package store

import (
	"fmt"

	"github.com/flyball-io/flyball/internal/cow"
	"github.com/flyball-io/flyball/internal/heap"
	"github.com/flyball-io/flyball/internal/pack"
)

// mover lets the heap's compaction update the places of records in a transaction.
type mover struct{ w *transaction }

func (m mover) Place(slot uint32) heap.Place { return m.w.records.Get(slot) }

func (m mover) Move(slot uint32, to heap.Place) { m.w.records.Set(m.w.owner, slot, to) }

// compactStep is about how many bytes one step of Compact copies.
const compactStep = 256 << 10

// Compact makes the next version smaller, in one step of about a millisecond. Writers wait for the
// step; readers do not. It reports whether there is more to do. Commits do most of the compaction.
// Call Compact while nothing is written, until it returns false. It does nothing while a Txn is
// open.
func (s *Store) Compact() (more bool) {
	if !s.writer.TryLock() {
		return false
	}
	defer s.writer.Unlock()
	s.do(func(c *core) { more = c.Compact() })
	heap.Relieve()
	return more
}

// Compact is Store.Compact.
func (c *core) Compact() (more bool) {
	if c.txn != nil || !c.heap.Wasteful() {
		return false
	}
	w := &transaction{state: c.published.fork(), owner: new(cow.Owner)}
	more = c.heap.Compact(mover{w}, compactStep)
	w.chunks = c.heap.Chunks()
	c.replace(w.state)
	return more
}

// replace publishes a state with the same content.
func (c *core) replace(s state) {
	snap := *c.published
	snap.state = s
	c.published = &snap
}

// An object keeps its slot while it exists. After most objects were deleted, the others are far
// apart: one of them keeps a leaf of a table, and one leaf a page of memory. Rebuild moves them to
// the first slots, in the order of keys, with tables and chunks of the right size.

// minRebuildSlots is the number of slots below which Rebuild is never worth it.
const minRebuildSlots = 512

// Sparse reports whether Rebuild has something to do.
func (s *Store) Sparse() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.core.sparse()
}

func (c *core) sparse() bool {
	return c.txn == nil && int(c.slots) > 2*c.published.Len()+minRebuildSlots
}

// Rebuild compacts a store that has lost most of its objects, and reports whether it did. It copies
// the objects beside the published state, so nothing waits for it. A write in the meantime discards
// the copy. Call Rebuild when nothing has been written for a while.
func (s *Store) Rebuild() bool {
	s.mu.Lock()
	was, slots, sparse := s.core.published, s.core.slots, s.core.sparse()
	s.mu.Unlock()
	if !sparse {
		return false
	}
	h := s.core.newHeap()
	is := was.rebuilt(slots, h)
	return s.exchange(was, is, h)
}

// exchange publishes is, with its own heap, in place of was. It does nothing if was is no longer
// the published state.
func (s *Store) exchange(was *Snapshot, is state, h *heap.Heap) (ok bool) {
	s.writer.Lock()
	defer s.writer.Unlock()
	s.do(func(c *core) {
		if ok = c.published == was; !ok {
			return
		}
		c.heap, c.slots, c.free = h, uint32(is.keys.Len()), nil
		c.replace(is)
	})
	return ok
}

// rebuilt returns the same content in the first slots, in the order of keys, and in heap h. slots
// is the number of slots before.
func (s *state) rebuilt(slots uint32, h *heap.Heap) state {
	o, names, n := new(cow.Owner), make(slotMap, slots), uint32(0)
	is := s.fork()
	is.keys, is.records, is.rejected, is.unindexed, is.hints = cow.Tree{}, cow.Table[heap.Place]{}, cow.Table[*Entry]{}, cow.Tree{}, newSlotTable()
	for was := range s.keys.All() {
		is.keys.Append(o, n)
		s.chunks.Read(s.records.Get(was), func(b []byte) {
			place, err := h.Put(n, b)
			if err != nil {
				panic(fmt.Errorf("store: rebuild: %w", err)) // h holds less than the heap before
			}
			is.records.Set(o, n, place)
		})
		if e := s.rejected.Get(was); e != nil {
			is.rejected.Set(o, n, e)
			is.unindexed.Append(o, n)
		}
		names[was] = n
		n++
	}
	is.chunks = h.Chunks()
	is.fillHints()
	for i := range is.indexes {
		is.indexes[i] = s.indexes[i].rebuilt(o, names)
	}
	return is
}

// slotMap maps former slots to new ones. Entries of empty slots are meaningless.
type slotMap []uint32

// rebuilt returns the same index with new slot numbers.
func (x *index) rebuilt(o *cow.Owner, names slotMap) index {
	is := index{definition: x.definition, found: newTable(postingBefore), missed: x.missed, pending: x.pending}
	for was := range x.missing.All() {
		is.missing.Set(o, names[was], true)
	}
	for was, t := range x.terms.All() {
		is.terms.Set(o, names[was], t)
	}
	it := x.found.tree.Iter()
	for ok := it.First(); ok; ok = it.Next() {
		p := it.Item()
		was := p.slots
		p.slots = cow.Tree{}
		for slot := range was.All() {
			p.slots.Append(o, names[slot])
		}
		is.found.tree.Load(p)
	}
	return is
}

// ReleaseBuffers drops the buffers of the writer, up to a megabyte. The next write makes new ones.
// Call it when nothing has been written for a while. The end of a list drops them, too.
func (s *Store) ReleaseBuffers() {
	if !s.writer.TryLock() {
		return
	}
	defer s.writer.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.core.releaseBuffers()
}

func (c *core) releaseBuffers() {
	c.packing.packer, c.packing.cache = pack.Packer{}, indexCache{}
	for _, t := range c.packing.groups {
		t.shared.Store(nil)
	}
	c.buf, c.packed, c.key, c.peeked.record, c.peeked.template = nil, nil, nil, nil, nil
}
