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
	dirty bool // state differs from what is published
	high  version

	// Of a relist: the slots listed so far, whether it was whole, whether the server went back, and
	// whether what did not change is to be reported too.
	relisting bool
	listed    bits
	whole     bool
	reset     bool
	unchanged bool
	// first says that what is put needs no note: it is the first list, and all of it is new.
	first bool

	passed *object.Incarnations // of the key that is Put or Deleted next
	notes  []note
	noted  map[uint32]int        // of slots: the place in notes
	dead   map[object.Key]int    // of keys that never had a slot: likewise
	gone   map[object.Key]uint32 // slots of what was deleted

	made  []heap.Place // records that were written; not of the first list
	left  []heap.Place // records that this state has no more
	taken []uint32     // slots that were free
	named []uint32     // ids of templates that were free
	uses  map[uint32]int32
}

// mostAgain is how many notes a transaction may have had that is used again: maps never shrink.
const mostAgain = 128

// again is the memory of a transaction that is over, for the next one, but for its notes, at which
// others look; nil if it is too much.
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

// note is what a transaction did with a key, so far. What was before is what is published.
type note struct {
	slot   uint32
	flags  uint8
	unseen bool                 // there was never a slot
	fresh  *Entry               // the newest state, if it is at hand
	last   *Entry               // the final one, if it is not what is published
	passed *object.Incarnations // between what is published and the newest or final state
}

const (
	noteGone = 1 << iota
	noteMissed
	noteResync
	noteReset
)

// marks are the flags of every note of now.
func (w *work) marks() uint8 {
	if w.reset {
		return noteReset
	}
	return 0
}

// bits is a set of slots.
type bits []uint64

func (b bits) has(i uint32) bool { return int(i/64) < len(b) && b[i/64]&(1<<(i%64)) != 0 }

func (b *bits) add(i uint32) {
	for int(i/64) >= len(*b) {
		*b = append(*b, 0)
	}
	(*b)[i/64] |= 1 << (i % 64)
}

// count adds to the users of a template.
func (w *work) count(id uint32, n int32) {
	w.uses[id] += n
}

// kindOf is the place of a kind among those of the state.
func (w *work) kindOf(k *wire.Kind) uint64 {
	for i, have := range w.kinds {
		if have.Same(k) {
			return uint64(i)
		}
	}
	w.kinds = append(w.kinds, k)
	return uint64(len(w.kinds) - 1)
}

// mostKept is the size up to which buffers are kept for the next record.
const mostKept = 64 << 10

// write makes e the state of a slot, and returns it as it was stored; or nil, if keep is false and
// nothing need be kept of it.
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
		panic(fmt.Errorf("store of %s: %w", c.opts.Resource, err)) // 32 GiB of packed objects
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

// leave takes the record of a slot out of what the state counts, if it has one. It is to be replaced.
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

// slotFor gives a key a slot: the one that it had when the transaction began, if it had one.
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
