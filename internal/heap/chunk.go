package heap

import (
	"encoding/binary"
	"slices"
)

// chunk is what the writer knows of one.
type chunk struct {
	mem    []byte // nil: it has none
	mapped bool   // it is not of the Go heap
	used   int    // bytes that records were put into, from the beginning
	live   int    // of them, those of records that are alive or in limbo
	state  state
}

type state uint8

const (
	idle    state = iota // no records
	filling              // records are put into it
	sealed
	leaving // the cleaner copies its records
	retired // waits for readers to go
)

// pages are the bytes of the pages that n bytes touch.
func pages(n int) int { return (n + 4095) &^ 4095 }

// reserve makes room for a record in the chunk that is filled with such ones, and writes its head.
func (h *Heap) reserve(which int, ref Ref, n int) (place uint32, ok bool) {
	need := size(n)
	i := h.fill[which]
	if i >= 0 && need > len(h.chunks[i].mem)-h.chunks[i].used {
		if need > chunkSize/2 {
			// One that fills half a chunk gets its own, so that the other may be filled.
			if i, ok = h.open(need); !ok {
				return 0, false
			}
			h.chunks[i].state = sealed
		} else {
			h.seal(which)
			i = -1
		}
	}
	if i < 0 {
		if i, ok = h.open(need); !ok {
			return 0, false
		}
		if len(h.chunks[i].mem) > chunkSize {
			h.chunks[i].state = sealed
		} else {
			h.fill[which] = i
		}
	}
	c := &h.chunks[i]
	at := c.used
	h.grow(c, need)
	binary.LittleEndian.PutUint32(c.mem[at:], uint32(ref))
	binary.LittleEndian.PutUint32(c.mem[at+4:], uint32(n))
	return uint32(i*chunkUnit + (at+head)/unit), true
}

// grow counts n bytes more of a chunk as used.
func (h *Heap) grow(c *chunk, n int) {
	h.stats.held.Add(int64(pages(c.used+n) - pages(c.used)))
	c.used += n
	h.used += n
}

func (h *Heap) seal(which int) {
	if i := h.fill[which]; i >= 0 {
		h.chunks[i].state = sealed
		h.fill[which] = -1
	}
}

// open begins a chunk for a record of so many bytes.
func (h *Heap) open(need int) (int, bool) {
	if need <= chunkSize {
		if n := len(h.empty); n > 0 {
			i := h.empty[n-1]
			h.empty = h.empty[:n-1]
			h.chunks[i].state = filling
			return int(i), true
		}
	}
	var i int
	if n := len(h.vacant); n > 0 {
		i = int(h.vacant[n-1])
		h.vacant = h.vacant[:n-1]
	} else {
		if len(h.chunks) == maxChunks {
			return 0, false
		}
		i = len(h.chunks)
		h.chunks = append(h.chunks, chunk{})
	}
	mem, mapped := h.space.take(need)
	h.chunks[i] = chunk{mem: mem, mapped: mapped, state: filling}
	h.publish(i, mem)
	return i, true
}

// publish shows readers the memory of a chunk.
func (h *Heap) publish(i int, mem []byte) {
	now := *h.mem.Load()
	if i == len(now) {
		now = append(now, mem) // readers do not look beyond the length that they have
	} else {
		now = slices.Clone(now)
		now[i] = mem
	}
	h.mem.Store(&now)
}

// shrink gives a part of a retired chunk back, if it has more than one such part.
func (h *Heap) shrink(r *retiree) bool {
	c := &h.chunks[r.chunk]
	if !c.mapped || h.o.Poison || pages(c.used)-r.discarded <= maxDiscard {
		return false
	}
	discard(c.mem[r.discarded : r.discarded+maxDiscard])
	r.discarded += maxDiscard
	return true
}

// release gives the memory of a chunk back that nobody reads, of which the first bytes went before.
func (h *Heap) release(i, discarded int) {
	c := &h.chunks[i]
	h.stats.held.Add(-int64(pages(c.used)))
	h.stats.retired.Add(-int64(pages(c.used)))
	if h.o.Poison {
		for k := range c.mem[:c.used] {
			c.mem[k] = poison
		}
	}
	was := *c
	*c = chunk{}
	if was.mapped && len(was.mem) == chunkSize {
		if !h.o.Poison {
			discard(was.mem[discarded:pages(was.used)])
		}
		c.mem, c.mapped = was.mem, true
		h.empty = append(h.empty, uint32(i))
		return
	}
	h.publish(i, nil)
	h.vacant = append(h.vacant, uint32(i))
	if was.mapped {
		h.space.drop(was.mem)
	}
}
