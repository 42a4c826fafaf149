package heap

// Stats are figures of a heap, in bytes.
type Stats struct {
	// Live is what living records take, with their heads. Used has the dead ones, too, of chunks that
	// were not dropped.
	Live, Used int64
	// Held is the memory of all chunks that were not given back yet: of their pages that were written.
	Held int64
	// Mapped is the part of Held that is outside the Go heap.
	Mapped int64
	// Dropped is the part of Held that waits for the garbage collector, because older versions have it,
	// or because there was no collection since they went.
	Dropped int64
}

// Stats are the figures of now. It is the writer's.
func (h *Heap) Stats() Stats {
	t := h.tally
	return Stats{Live: h.live, Used: h.used, Held: t.held.Load(), Mapped: t.mapped.Load(), Dropped: t.dropped.Load()}
}

// Process is what all heaps of the process have mapped outside the Go heap, and the part of that
// which waits for the garbage collector.
func Process() (mapped, dropped int64) { return process.mapped.Load(), process.dropped.Load() }
