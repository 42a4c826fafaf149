package heap

import "sync/atomic"

// Stats are figures of a heap, in bytes if not said otherwise.
type Stats struct {
	// Records is how many records there are.
	Records int
	// Live is what they take, with their heads.
	Live int64
	// Waiting is what freed records take that somebody may still ask for.
	Waiting int64
	// Retired is what chunks take that wait for readers to go.
	Retired int64
	// Held is the memory that the system has given: the pages of all chunks that were written, and
	// the table. Held − Live − Waiting − Retired is free or dead.
	Held int64
	// Reserved is the address space taken, Held included.
	Reserved int64
}

type counters struct{ records, live, waiting, retired, held atomic.Int64 }

// Stats are the figures of now; each of its own moment, if somebody writes.
func (h *Heap) Stats() Stats {
	s := &h.stats
	return Stats{
		Records: int(s.records.Load()), Live: s.live.Load(), Waiting: s.waiting.Load(), Retired: s.retired.Load(),
		Held: s.held.Load(), Reserved: h.space.reserved.Load(),
	}
}
