package heap

import (
	"encoding/binary"
	"runtime"
)

// Place says where a record lies: the index of its chunk and the offset in it. 0 is nowhere. A place
// means something in versions from the one with which the record was put to the last one that names it.
type Place uint32

const (
	unit       = 8 // records begin at multiples of it
	head       = 8 // bytes before a record: its tag and its length, four bytes each
	maxChunk   = 1 << 20
	minChunk   = 16 << 10
	offsetBits = 17 // maxChunk / unit
	maxChunks  = 1 << (32 - offsetBits)
	// ownChunk is the size from which on a record has a chunk of its own.
	ownChunk = maxChunk / 4
	// MaxRecord is the size of the largest record, in bytes.
	MaxRecord = 1 << 30

	poison = 0xdb
)

// Chunks are those of one version of a heap, by their indexes in places. It is immutable, and for any
// number of goroutines. A dropped chunk is nil.
type Chunks []*Chunk

// Chunk is a run of memory that records are appended to. When no version has it any more its memory
// is given back.
type Chunk struct {
	mem    []byte
	memory *memory
}

// Read calls f with a record. f must not keep the bytes or write to them: their memory may be unmapped
// later.
func (c Chunks) Read(p Place, f func(b []byte)) {
	chunk := c[p>>offsetBits]
	f(chunk.record(p))
	runtime.KeepAlive(chunk) // its cleanup unmaps the bytes
}

// ID tells records apart, also those of different versions. It keeps the chunk of its record.
type ID struct {
	chunk *Chunk
	place Place
}

// ID is that of a record.
func (c Chunks) ID(p Place) ID { return ID{c[p>>offsetBits], p} }

// record is what lies at a place of the chunk.
func (c *Chunk) record(p Place) []byte {
	off := int(p&(1<<offsetBits-1)) * unit
	n := int(binary.LittleEndian.Uint32(c.mem[off-4:]))
	return c.mem[off : off+n : off+n]
}

// head is the tag of the record that begins at an offset of the chunk, and its length.
func (c *Chunk) head(at int) (tag uint32, n int) {
	return binary.LittleEndian.Uint32(c.mem[at:]), int(binary.LittleEndian.Uint32(c.mem[at+4:]))
}

// size is what a record of n bytes takes in a chunk.
func size(n int) int { return head + (n+unit-1)/unit*unit }

// pages are the bytes of the pages that n bytes touch.
func pages(n int) int { return (n + 4095) &^ 4095 }
