package store

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/flyball-io/flyball/internal/cow"
	"github.com/flyball-io/flyball/internal/heap"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// transaction is an open transaction.
type transaction struct {
	state
	owner *cow.Owner
	dirty bool // state differs from the published one
	high  version

	// The relist: the slots listed so far, whether it is complete, and whether the server went
	// back.
	relisting bool
	listed    bits
	complete  bool
	reset     bool
	// firstList says that this is the first list: every object is new, so no pending changes are kept.
	firstList bool
	// full says that a pending change names as many incarnations as it can.
	full bool

	pending []pendingChange
	bySlot  map[uint32]int        // index into pending, by slot
	unseen  map[object.Key]int    // index into pending, by key that never had a slot
	deleted map[object.Key]uint32 // slots of deleted keys

	written      []heap.Place     // places of new records; not of the first list
	superseded   []heap.Place     // places of superseded records
	takenSlots   []uint32         // slots taken from the free list
	newTemplates []uint32         // template ids taken from the free list
	uses         map[uint32]int32 // by template id: records written, less superseded ones
}

// maxReuse is the largest number of pending changes a reused transaction may have had: maps never
// shrink.
const maxReuse = 128

// reuse returns w's maps and slices, emptied, for the next transaction. It returns nil if they have
// grown past maxReuse. The pending changes are not reused: callers may still hold them.
func (w *transaction) reuse() *transaction {
	if len(w.pending) > maxReuse || len(w.deleted) > maxReuse || len(w.written) > maxReuse {
		return nil
	}
	clear(w.bySlot)
	clear(w.unseen)
	clear(w.deleted)
	clear(w.uses)
	return &transaction{
		bySlot: w.bySlot, unseen: w.unseen, deleted: w.deleted, uses: w.uses,
		pending: make([]pendingChange, 0, len(w.pending)), superseded: w.superseded[:0], written: w.written[:0], takenSlots: w.takenSlots[:0], newTemplates: w.newTemplates[:0],
	}
}

// pendingChange is a pending change of one key. The state before it is the published one.
type pendingChange struct {
	slot   uint32
	flags  uint8
	unseen bool                 // the key never had a slot
	newest *Entry               // the newest state, if it is in memory
	last   *Entry               // the final state, if it is not the published one
	passed *object.Incarnations // incarnations between the published state and the newest or final one
}

const (
	changeDeleted = 1 << iota
	changeMissed
	changeReset
)

// commonFlags returns the flags that every new pending change gets.
func (w *transaction) commonFlags() uint8 {
	if w.reset {
		return changeReset
	}
	return 0
}

// bits is a set of slots, one bit each.
type bits []uint64

func (b bits) has(i uint32) bool { return int(i/64) < len(b) && b[i/64]&(1<<(i%64)) != 0 }

func (b *bits) add(i uint32) {
	for int(i/64) >= len(*b) {
		*b = append(*b, 0)
	}
	(*b)[i/64] |= 1 << (i % 64)
}

// kindOf returns the index of a kind in w.kinds. It adds the kind if it is missing.
func (w *transaction) kindOf(k *wire.Kind) uint64 {
	for i, have := range w.kinds {
		if have.Same(k) {
			return uint64(i)
		}
	}
	w.kinds = append(w.kinds, k)
	return uint64(len(w.kinds) - 1)
}

// maxKeptBuffer is the largest buffer in bytes that is kept for the next record.
const maxKeptBuffer = 64 << 10

// write stores e in a slot and returns the entry as stored. It may return nil if keep is false.
func (c *core) write(slot uint32, e *Entry, keep bool) *Entry {
	w := c.txn
	b := binary.AppendUvarint(c.buf[:0], w.kindOf(e.kind))
	stored := e
	if e.rejected == nil {
		room := len(e.record) + 2*maxFront + 2*binary.MaxVarintLen64 // for what comes before the object, which is known afterwards
		m := e.meta()
		packed, t := c.packing.pack(w, slices.Grow(c.packed[:0], room)[:room], slot, e, &m)
		c.packed = packed
		var id uint32
		if t != nil {
			id = t.id
		}
		b = binary.AppendUvarint(b, uint64(id))
		at := len(b)
		c.buf = m.append(b, t)
		b = packed[room-len(c.buf):]
		copy(b, c.buf)
		if stored = nil; keep || c.opts.check != nil {
			stored = e.packed(append(make(record, 0, len(b)-at), b[at:]...), t)
		}
	} else {
		b = append(append(b, 0), e.record...)
		c.buf = b
	}
	place, err := c.heap.Put(slot, b)
	if err != nil {
		panic(fmt.Errorf("store of %s: %w", c.opts.Resource, err)) // the heap holds at most 32 GiB of packed objects
	}
	c.supersede(slot)
	w.chunks = c.heap.Chunks()
	if cap(c.packed) > maxKeptBuffer {
		c.packed = nil
	}
	if c.opts.check != nil {
		c.opts.check.put(b, e.raw, stored)
	}
	if !w.firstList {
		w.written = append(w.written, place)
	}
	w.records.Set(w.owner, slot, place)
	if e.rejected != nil {
		w.rejected.Set(w.owner, slot, stored)
		w.unindexed.Insert(w.owner, slot, w.probe(c.keyOf(e.key)))
	} else {
		w.bytes += int64(len(e.raw))
	}
	w.dirty = true
	return stored
}

// supersede subtracts the record of a slot from the counters and adds it to the superseded ones. A slot
// without a record is left alone.
func (c *core) supersede(slot uint32) {
	w := c.txn
	place := w.records.Get(slot)
	if place == 0 {
		return
	}
	rejected := w.rejected.Get(slot) != nil
	w.record(slot, func(_, id uint32, r record) {
		if id != 0 {
			w.uses[id]--
		}
		if !rejected {
			w.bytes -= r.size()
		}
	})
	if rejected {
		c.key = w.key(c.key[:0], slot)
		w.unindexed.Delete(w.owner, w.probe(c.key))
		w.rejected.Set(w.owner, slot, nil)
	}
	w.superseded = append(w.superseded, place)
}

// slotFor gives a key a slot. A key deleted in this transaction gets its former slot back.
func (c *core) slotFor(key object.Key) uint32 {
	w := c.txn
	if slot, ok := w.deleted[key]; ok {
		delete(w.deleted, key)
		return slot
	}
	slot := c.slots
	if n := len(c.free); n > 0 {
		slot = c.free[n-1]
		c.free = c.free[:n-1]
	} else {
		c.slots++
	}
	if !w.firstList {
		w.takenSlots = append(w.takenSlots, slot)
	}
	return slot
}
