package store

import (
	"encoding/binary"
	"fmt"

	"github.com/flyball-io/flyball/internal/cow"
	"github.com/flyball-io/flyball/internal/heap"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/wire"
)

// work is an open transaction.
type work struct {
	state
	owner *cow.Owner
	dirty bool // state differs from the published one
	high  version

	// The relist: the slots listed so far, whether it is complete, and whether the server went
	// back. unchanged says that unchanged objects are reported too.
	relisting bool
	listed    bits
	whole     bool
	reset     bool
	unchanged bool
	// first says that this is the first list: every object is new, so no pending changes are kept.
	first bool

	passed *object.Incarnations // of the key of the next Put or Delete
	notes  []note
	noted  map[uint32]int        // index into notes, by slot
	dead   map[object.Key]int    // index into notes, by key that never had a slot
	gone   map[object.Key]uint32 // slots of deleted keys

	made  []heap.Place // places of new records; not of the first list
	left  []heap.Place // places of superseded records
	taken []uint32     // slots taken from the free list
	named []uint32     // template ids taken from the free list
	uses  map[uint32]int32
}

// mostAgain is the largest number of pending changes a reused transaction may have had: maps never
// shrink.
const mostAgain = 128

// again returns w's maps and slices, emptied, for the next transaction. It returns nil if they have
// grown past mostAgain. The pending changes are not reused: callers may still hold them.
func (w *work) again() *work {
	if len(w.notes) > mostAgain || len(w.gone) > mostAgain || len(w.made) > mostAgain {
		return nil
	}
	clear(w.noted)
	clear(w.dead)
	clear(w.gone)
	clear(w.uses)
	return &work{
		noted: w.noted, dead: w.dead, gone: w.gone, uses: w.uses,
		notes: make([]note, 0, len(w.notes)), left: w.left[:0], made: w.made[:0], taken: w.taken[:0], named: w.named[:0],
	}
}

// note is a pending change of one key. The state before it is the published one.
type note struct {
	slot   uint32
	flags  uint8
	unseen bool                 // the key never had a slot
	fresh  *Entry               // the newest state, if it is in memory
	last   *Entry               // the final state, if it is not the published one
	passed *object.Incarnations // incarnations between the published state and the newest or final one
}

const (
	noteGone = 1 << iota
	noteMissed
	noteResync
	noteReset
)

// marks returns the flags that every new pending change gets.
func (w *work) marks() uint8 {
	if w.reset {
		return noteReset
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

// count adds n to the users of a template.
func (w *work) count(id uint32, n int32) {
	w.uses[id] += n
}

// kindOf returns the index of a kind in w.kinds. It adds the kind if it is missing.
func (w *work) kindOf(k *wire.Kind) uint64 {
	for i, have := range w.kinds {
		if have.Same(k) {
			return uint64(i)
		}
	}
	w.kinds = append(w.kinds, k)
	return uint64(len(w.kinds) - 1)
}

// mostKept is the largest buffer in bytes that is kept for the next record.
const mostKept = 64 << 10

// write stores e in a slot and returns the entry as stored. It may return nil if keep is false.
func (c *Core) write(slot uint32, e *Entry, keep bool) *Entry {
	w := c.work
	b := binary.AppendUvarint(c.buf[:0], w.kindOf(e.kind))
	stored := e
	if e.aside == nil {
		packed, t := c.packing.pack(w, c.packed[:0], slot, e)
		c.packed = packed
		var id uint32
		if t != nil {
			id = t.id
		}
		b = binary.AppendUvarint(b, uint64(id))
		at := len(b)
		b = append(append(b, e.record.front()...), packed...)
		if stored = nil; keep || c.check != nil {
			stored = e.packed(append(make(record, 0, len(b)-at), b[at:]...), t)
		}
	} else {
		b = append(append(b, 0), e.record...)
	}
	place, err := c.heap.Put(slot, b)
	if err != nil {
		panic(fmt.Errorf("store of %s: %w", c.opts.Resource, err)) // the heap holds at most 32 GiB of packed objects
	}
	c.leave(slot)
	w.chunks = c.heap.Chunks()
	if c.buf = b[:0]; cap(c.buf) > mostKept {
		c.buf, c.packed = nil, nil
	}
	if c.check != nil {
		c.check.put(b, e.raw, stored)
	}
	if !w.first {
		w.made = append(w.made, place)
	}
	w.records.Set(w.owner, slot, place)
	if e.aside != nil {
		w.asides.Set(w.owner, slot, stored)
		w.aside++
	} else {
		w.bytes += int64(len(e.raw))
	}
	w.dirty = true
	return stored
}

// leave subtracts the record of a slot from the counters and adds it to the superseded ones. A slot
// without a record is left alone.
func (c *Core) leave(slot uint32) {
	w := c.work
	place := w.records.Get(slot)
	if place == 0 {
		return
	}
	aside := w.asides.Get(slot) != nil
	w.record(slot, func(_, id uint32, r record) {
		if id != 0 {
			w.count(id, -1)
		}
		if !aside {
			w.bytes -= r.size()
		}
	})
	if aside {
		w.asides.Set(w.owner, slot, nil)
		w.aside--
	}
	w.left = append(w.left, place)
}

// slotFor gives a key a slot. A key deleted in this transaction gets its former slot back.
func (c *Core) slotFor(key object.Key) uint32 {
	w := c.work
	if slot, ok := w.gone[key]; ok {
		delete(w.gone, key)
		return slot
	}
	slot := c.slots
	if n := len(c.free); n > 0 {
		slot = c.free[n-1]
		c.free = c.free[:n-1]
	} else {
		c.slots++
	}
	if !w.first {
		w.taken = append(w.taken, slot)
	}
	return slot
}
