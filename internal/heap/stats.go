package heap

// Stats are figures of a heap, in bytes.
type Stats struct {
	// Live is the size of live records with their heads. Used includes the dead ones in chunks that
	// are not dropped.
	Live, Used int64
	// Held is the memory of all chunks that are not freed yet: their written pages.
	Held int64
	// Mapped is the part of Held that is outside the Go heap.
	Mapped int64
	// Dropped is the part of Held that waits for the garbage collector. Older versions have it, or
	// no collection ran since they ended.
	Dropped int64
}

// Stats returns the current figures. Only the writer may call it.
func (h *Heap) Stats() Stats {
	t := h.tally
	return Stats{Live: h.live, Used: h.used, Held: t.held.Load(), Mapped: t.mapped.Load(), Dropped: t.dropped.Load()}
}

// Process returns the bytes that all heaps of the process have mapped outside the Go heap. dropped
// is the part that waits for the garbage collector.
func Process() (mapped, dropped int64) { return process.mapped.Load(), process.dropped.Load() }
