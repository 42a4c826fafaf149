package heap

import (
	"encoding/binary"
	"errors"
	"runtime"
	"sync/atomic"
)

// Ref names a record. 0 is none.
type Ref uint32

// The errors of [Heap.Put].
var (
	// ErrFull says that a heap has all the records, 2³¹, or all the bytes, 16 GiB, that a Ref and
	// the table can name.
	ErrFull = errors.New("heap: full")
	// ErrTooLarge says that a record has more than MaxRecord bytes.
	ErrTooLarge = errors.New("heap: record too large")
	// ErrClosed says that the heap was closed.
	ErrClosed = errors.New("heap: closed")
)

// MaxRecord is the size of the largest record, in bytes.
const MaxRecord = 1 << 30

const (
	unit      = 8 // records begin at multiples of it
	head      = 8 // bytes before a record: its Ref and its length, four bytes each
	chunkBits = 20
	chunkSize = 1 << chunkBits
	chunkUnit = chunkSize / unit
	maxChunks = 1 << (31 - chunkBits + 3) // that a place names

	pageRefs = 1 << 10 // of a page of the table
	freeBit  = 1 << 31 // in the table: the rest is the next free Ref

	poison = 0xdb
)

// Options of a heap. The zero value works.
type Options struct {
	// GoHeap takes chunks from the Go heap also where memory can be mapped. For tests: the race
	// detector does not look at other memory.
	GoHeap bool
	// Poison overwrites records and chunks when they are given back, and does not return them to
	// the system: whoever still reads them gets 0xdb. For tests.
	Poison bool
}

// Heap keeps records. New makes one.
//
// Put, Free, Step and Close belong to one goroutine, or one lock. Pin, Hold, Bytes and Stats are for
// all, at any time.
type Heap struct {
	pins, holds *epochs
	table       atomic.Pointer[[]*[pageRefs]atomic.Uint32]
	mem         atomic.Pointer[[][]byte] // of each chunk; readers see it, so it is copied to change
	stats       counters

	// The writer's.
	o      Options
	space  *space
	chunks []chunk
	vacant []uint32 // chunks without memory
	empty  []uint32 // chunks with memory that are not in use
	fill   [2]int   // the chunk that new records, and moved ones, are put into; -1: none
	refs   uint32   // that the table has room for
	free   uint32   // the first Ref that is free; 0: none
	held   limbo    // freed records that may be held, then those that may be looked at
	seen   limbo
	clean  cleaner
	used   int  // bytes of all chunks that are not retired, dead ones too
	live   int  // of them, those of records that are alive or in limbo
	ops    uint // Puts and Frees
	closed bool
}

// New makes a heap without memory.
func New(o Options) *Heap {
	h := &Heap{o: o, pins: newEpochs(), holds: newEpochs(), space: &space{goHeap: o.GoHeap}, fill: [2]int{-1, -1}}
	h.clean.victim = -1
	h.table.Store(new([]*[pageRefs]atomic.Uint32))
	h.mem.Store(new([][]byte))
	// A heap that nobody has any more gives its mappings back. A guard holds the heap.
	runtime.AddCleanup(h, func(s *space) { s.close() }, h.space)
	return h
}

// Put keeps a copy of b and returns its name, which is not that of any record, nor of one that a
// guard taken before its Free might still ask for. b is not kept.
//
// It does some steps of compaction. An error leaves everything as it was.
func (h *Heap) Put(b []byte) (Ref, error) {
	switch {
	case h.closed:
		return 0, ErrClosed
	case len(b) > MaxRecord:
		return 0, ErrTooLarge
	}
	if h.free == 0 && !h.growTable() {
		return 0, ErrFull
	}
	ref := Ref(h.free)
	place, ok := h.reserve(0, ref, len(b))
	if !ok {
		return 0, ErrFull
	}
	h.free = h.slot(ref).Load() &^ freeBit
	copy(h.at(place), b)
	h.count(place, size(len(b)))
	h.stats.records.Add(1)
	h.stats.live.Add(int64(size(len(b))))
	h.slot(ref).Store(place)
	h.tidy(len(b))
	return ref, nil
}

// Free ends the life of a record. Guards that were taken before still read it, others must not ask
// for it. Its memory is given back, and its name given anew, once they have gone.
//
// It does some steps of compaction. A Ref that names no record is ignored; to free one twice is a
// mistake that cannot always be seen.
func (h *Heap) Free(ref Ref) {
	if h.closed || !h.known(ref) {
		return
	}
	n := len(h.at(h.slot(ref).Load()))
	h.held.push(ref, h.holds)
	h.stats.records.Add(-1)
	h.stats.live.Add(-int64(size(n)))
	h.stats.waiting.Add(int64(size(n)))
	h.tidy(n)
}

// Bytes are those of a record; nil when the Ref names none. They are only to be read, and only
// while a Pin is held that was taken before the call. The Ref must be of a record that is not
// freed, or was freed after the Pin or a Hold was taken.
func (h *Heap) Bytes(ref Ref) []byte {
	table := *h.table.Load()
	if ref == 0 || int(ref/pageRefs) >= len(table) {
		return nil
	}
	place := table[ref/pageRefs][ref%pageRefs].Load()
	if place&freeBit != 0 {
		return nil
	}
	// A place is published after the memory of its chunk.
	return record((*h.mem.Load())[place/chunkUnit], place)
}

// record is what lies at a place in its chunk.
func record(mem []byte, place uint32) []byte {
	off := int(place%chunkUnit) * unit
	n := int(binary.LittleEndian.Uint32(mem[off-4:]))
	return mem[off : off+n : off+n]
}

func (h *Heap) at(place uint32) []byte { return record(h.chunks[place/chunkUnit].mem, place) }

func (h *Heap) slot(ref Ref) *atomic.Uint32 {
	return &(*h.table.Load())[ref/pageRefs][ref%pageRefs]
}

// known reports whether a Ref names a record.
func (h *Heap) known(ref Ref) bool {
	return ref != 0 && uint32(ref) < h.refs && h.slot(ref).Load()&freeBit == 0
}

// size is what a record of n bytes takes in a chunk.
func size(n int) int { return head + (n+unit-1)/unit*unit }

// growTable makes a page of the table, all its Refs free.
func (h *Heap) growTable() bool {
	if h.refs >= freeBit {
		return false
	}
	page := new([pageRefs]atomic.Uint32) // without pointers, so of the Go heap
	first := h.refs
	for i := range uint32(pageRefs) {
		next := first + i + 1
		if i == pageRefs-1 {
			next = 0
		}
		page[i].Store(next | freeBit)
	}
	h.free = max(first, 1) // 0 names nothing
	h.refs += pageRefs
	was := *h.table.Load()
	now := append(was, page) // readers do not look beyond the length that they have
	h.table.Store(&now)
	h.stats.held.Add(pageRefs * 4)
	return true
}

// Close gives all memory back. No guard may be held, and nothing may be asked for afterwards.
func (h *Heap) Close() error {
	if h.closed {
		return nil
	}
	h.closed = true
	h.mem.Store(new([][]byte))
	h.table.Store(new([]*[pageRefs]atomic.Uint32))
	h.chunks, h.held, h.seen = nil, limbo{}, limbo{}
	return h.space.close()
}
