package heap

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
)

// The errors of [Heap.Put].
var (
	// ErrFull says that a heap has 32,768 chunks, as many as a Place can address: some 32 GiB.
	ErrFull = errors.New("heap: full")
	// ErrTooLarge says that a record has more than MaxRecord bytes.
	ErrTooLarge = errors.New("heap: record too large")
)

// Options configure a heap. The zero value works.
type Options struct {
	// GoHeap allocates chunks from the Go heap also where memory can be mapped.
	GoHeap bool
	// Poison is for tests. Chunks are Go memory, which the race detector watches. They are
	// overwritten with 0xdb when the collector finds that no version refers to them.
	Poison bool
}

// Heap is the writer of records. It is for one goroutine at a time. Readers use the versions that
// Chunks returns. Use New.
type Heap struct {
	o        Options
	chunks   Chunks
	unshared bool    // no version shares this slice: its items may be replaced
	usages   []usage // one for each chunk
	vacant   []int   // indexes without a chunk
	current  int     // the chunk that records are appended to; -1: none
	used     int64   // bytes of all records, dead ones included
	live     int64   // bytes of live records
	debt     int64   // bytes that compaction may copy for the writes since its last step
	victim   int     // the chunk that compaction empties; -1: none
	victimAt int     // offset of its next record
	tally    *tally  // of all chunks that are not freed yet
}

// usage counts the bytes used in a chunk, and those of live records.
type usage struct{ used, live int }

// New returns a heap without memory.
func New(o Options) *Heap { return &Heap{o: o, current: -1, victim: -1, tally: new(tally)} }

// Chunks returns the current version.
func (h *Heap) Chunks() Chunks {
	h.unshared = false
	return slices.Clip(h.chunks)
}

// Put appends a copy of b. The tag is the owner's name for the record; Compact uses it. The record
// is alive until Free. An error changes nothing.
func (h *Heap) Put(tag uint32, b []byte) (Place, error) {
	if len(b) > MaxRecord {
		return 0, ErrTooLarge
	}
	need, i := size(len(b)), h.current
	if i < 0 || need > len(h.chunks[i].mem)-h.usages[i].used {
		if i = h.open(need); i < 0 {
			return 0, ErrFull
		}
		if need < ownChunk {
			h.current = i
		}
	}
	c, k := h.chunks[i], &h.usages[i]
	at := k.used
	k.used += need
	k.live += need
	h.used += int64(need)
	h.live += int64(need)
	h.debt += perByte * int64(need)
	c.memory.touch(pages(k.used))
	binary.LittleEndian.PutUint32(c.mem[at:], tag)
	binary.LittleEndian.PutUint32(c.mem[at+4:], uint32(len(b)))
	copy(c.mem[at+head:], b)
	return Place(i<<offsetBits | (at+head)/unit), nil
}

// Free marks a record as dead: no later version refers to it. A chunk without live records is
// dropped.
func (h *Heap) Free(p Place) {
	i := int(p >> offsetBits)
	n := size(len(h.chunks[i].record(p)))
	h.usages[i].live -= n
	h.live -= int64(n)
	h.debt += perByte * int64(n)
	if h.usages[i].live == 0 {
		h.drop(i)
	}
}

// open makes a chunk for a record of need bytes, and returns its index; -1 if the heap is full.
func (h *Heap) open(need int) int {
	n := minChunk
	if quarter := h.used / 4; quarter > minChunk { // bounds the unused room
		n = 1 << min(bits.Len64(uint64(quarter)), bits.Len(maxChunk)-1)
	}
	if need > n || need >= ownChunk {
		n = pages(need)
	}
	if len(h.vacant) == 0 {
		if len(h.chunks) == maxChunks {
			return -1
		}
		h.chunks = append(h.chunks, newChunk(n, h.o, h.tally)) // versions do not read beyond their length
		h.usages = append(h.usages, usage{})
		return len(h.chunks) - 1
	}
	i := h.vacant[len(h.vacant)-1]
	h.vacant = h.vacant[:len(h.vacant)-1]
	h.replace(i, newChunk(n, h.o, h.tally))
	return i
}

// drop removes a chunk from later versions.
func (h *Heap) drop(i int) {
	h.chunks[i].memory.drop()
	h.used -= int64(h.usages[i].used)
	h.live -= int64(h.usages[i].live)
	h.usages[i] = usage{}
	h.replace(i, nil)
	h.vacant = append(h.vacant, i)
	if h.current == i {
		h.current = -1
	}
	if h.victim == i {
		h.victim = -1
	}
}

// replace sets a chunk in later versions.
func (h *Heap) replace(i int, c *Chunk) {
	if !h.unshared {
		h.chunks, h.unshared = slices.Clone(h.chunks), true
	}
	h.chunks[i] = c
}
