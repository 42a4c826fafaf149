package heap

import (
	"encoding/binary"
	"runtime"
)

// Place is the address of a record: the index of its chunk and the offset in it. 0 means none. A
// place is valid in versions from the one in which the record was Put to the last one that refers
// to it.
type Place uint32

const (
	unit       = 8 // records begin at multiples of it
	head       = 8 // bytes before a record: its tag and its length, four bytes each
	maxChunk   = 1 << 20
	minChunk   = 16 << 10
	offsetBits = 17 // maxChunk / unit
	maxChunks  = 1 << (32 - offsetBits)
	// ownChunk is the size from which a record has a chunk of its own.
	ownChunk = maxChunk / 4
	// MaxRecord is the size of the largest record, in bytes.
	MaxRecord = 1 << 30

	poison = 0xdb
)

// Chunks are the chunks of one version of a heap, by index. They are immutable and safe for any
// number of goroutines. A dropped chunk is nil.
type Chunks []*Chunk

// Chunk is a run of memory that records are appended to. Its memory is freed when no version refers
// to it.
type Chunk struct {
	mem    []byte
	memory *memory
}

// Read calls f with a record. f must not keep the bytes or write to them: their memory may be
// unmapped later.
func (c Chunks) Read(p Place, f func(b []byte)) {
	chunk := c[p>>offsetBits]
	f(chunk.record(p))
	runtime.KeepAlive(chunk) // its cleanup unmaps the bytes
}

// ID identifies a record across versions. It keeps the record's chunk alive.
type ID struct {
	chunk *Chunk
	place Place
}

// ID returns the identity of a record.
func (c Chunks) ID(p Place) ID { return ID{c[p>>offsetBits], p} }

// record returns the bytes at a place in the chunk.
func (c *Chunk) record(p Place) []byte {
	off := int(p&(1<<offsetBits-1)) * unit
	n := int(binary.LittleEndian.Uint32(c.mem[off-4:]))
	return c.mem[off : off+n : off+n]
}

// head returns the tag and the length of the record that begins at an offset of the chunk.
func (c *Chunk) head(at int) (tag uint32, n int) {
	return binary.LittleEndian.Uint32(c.mem[at:]), int(binary.LittleEndian.Uint32(c.mem[at+4:]))
}

// size is the space of a record of n bytes. One without bytes takes a unit: the end of a chunk is no place in it.
func size(n int) int { return head + (max(n, 1)+unit-1)/unit*unit }

// pages rounds n up to whole pages.
func pages(n int) int { return (n + 4095) &^ 4095 }
