package heap

import (
	"runtime"
	"sync/atomic"
)

// memory is that of a chunk. It does not know the chunk, so that its cleanup can have it.
type memory struct {
	mem     []byte
	mapped  bool
	poison  bool
	touched atomic.Int64 // bytes of pages that were written
	dropped atomic.Bool
	tally   *tally
}

// tally counts bytes of chunks that were not given back yet.
type tally struct {
	held    atomic.Int64 // of all
	mapped  atomic.Int64 // of those outside the Go heap
	dropped atomic.Int64 // of those that versions to come do not have
}

// process is the tally of what all heaps have outside the Go heap.
var process tally

// newChunk makes one of n bytes, all zero.
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
		m.mem = nil // it is the collector's anyway
	}
	runtime.AddCleanup(c, (*memory).release, m)
	return c
}

// hold adds to what is held.
func (m *memory) hold(n int64) {
	m.tally.held.Add(n)
	if m.mapped {
		m.tally.mapped.Add(n)
		process.mapped.Add(n)
	}
}

// wait adds to what waits for the collector.
func (m *memory) wait(n int64) {
	m.tally.dropped.Add(n)
	if m.mapped {
		process.dropped.Add(n)
	}
}

// touch says that the first n bytes have pages.
func (m *memory) touch(n int) {
	if was := m.touched.Load(); int64(n) > was {
		m.touched.Store(int64(n))
		m.hold(int64(n) - was)
	}
}

// drop says that versions to come do not have the chunk.
func (m *memory) drop() {
	m.dropped.Store(true)
	m.wait(m.touched.Load())
}

// release gives the memory back: the chunk has gone.
func (m *memory) release() {
	n := m.touched.Load()
	m.hold(-n)
	if m.dropped.Load() {
		m.wait(-n)
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
