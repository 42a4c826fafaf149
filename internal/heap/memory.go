package heap

import (
	"runtime"
	"sync/atomic"
)

// memory is the memory of a chunk. It does not refer to the chunk, so the chunk's cleanup can hold
// it.
type memory struct {
	mem     []byte
	mapped  bool
	poison  bool
	touched atomic.Int64 // bytes of written pages
	dropped atomic.Bool
	tally   *tally
}

// tally counts bytes of chunks that are not freed yet.
type tally struct {
	held    atomic.Int64 // of all chunks
	mapped  atomic.Int64 // of those outside the Go heap
	dropped atomic.Int64 // of dropped chunks
}

// process counts the memory of all heaps outside the Go heap.
var process tally

// newChunk makes a chunk of n zero bytes.
func newChunk(n int, o Options, t *tally) *Chunk {
	m := &memory{poison: o.Poison, tally: t}
	if !o.GoHeap && !o.Poison {
		if mem, err := mapMemory(n); err == nil {
			m.mem, m.mapped = mem, true
		}
	}
	if !m.mapped {
		m.mem = make([]byte, n)
		m.touch(n)
	}
	c := &Chunk{mem: m.mem, memory: m}
	if !m.mapped && !m.poison {
		m.mem = nil // the collector frees it
	}
	runtime.AddCleanup(c, (*memory).release, m)
	return c
}

// addHeld adds n bytes to the held ones.
func (m *memory) addHeld(n int64) {
	m.tally.held.Add(n)
	if m.mapped {
		m.tally.mapped.Add(n)
		process.mapped.Add(n)
	}
}

// addWaiting adds n bytes to those that wait for the collector.
func (m *memory) addWaiting(n int64) {
	m.tally.dropped.Add(n)
	if m.mapped {
		process.dropped.Add(n)
	}
}

// touch records that the first n bytes have pages.
func (m *memory) touch(n int) {
	if was := m.touched.Load(); int64(n) > was {
		m.touched.Store(int64(n))
		m.addHeld(int64(n) - was)
	}
}

// drop records that later versions do not have the chunk.
func (m *memory) drop() {
	m.dropped.Store(true)
	m.addWaiting(m.touched.Load())
}

// release frees the memory after the chunk was collected.
func (m *memory) release() {
	n := m.touched.Load()
	m.addHeld(-n)
	if m.dropped.Load() {
		m.addWaiting(-n)
	}
	switch {
	case m.mapped:
		unmapMemory(m.mem)
	case m.poison:
		for i := range m.mem {
			m.mem[i] = poison
		}
	}
}
