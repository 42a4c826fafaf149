package heap

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// minWaiting is the number of bytes outside the Go heap that may always wait for the collector.
	minWaiting = 16 << 20
	// waitingShare is the share of all memory that may wait. The Go runtime lets garbage grow to
	// the whole size of its heap.
	waitingShare = 4
	// minInterval is the least time between two requested collections.
	minInterval = 100 * time.Millisecond
)

// reliever tracks the requested collections.
type reliever struct {
	mu      sync.Mutex
	last    time.Time
	base    int64 // least bytes that waited since then: held versions keep them
	running bool
}

var relieving reliever

// Relieve starts a collection in the background if too many dropped chunks wait for it: more than a
// quarter of the process's memory, and more than 16 MiB. It starts at most one in 100 ms. The
// collector does not know of memory outside its heap. Without Relieve such memory could wait for
// long: in a program that allocates little, has a large heap, or runs with GOGC=off. Call it after
// chunks were dropped.
func Relieve() {
	waiting := process.dropped.Load()
	if waiting < minWaiting {
		return
	}
	r := &relieving
	r.mu.Lock()
	defer r.mu.Unlock()
	r.base = min(r.base, waiting)
	if !r.running && due(waiting-r.base, process.mapped.Load()-waiting+goHeap(), time.Since(r.last)) {
		r.running = true
		go r.collect()
	}
}

// due decides whether to collect. waiting is the size in bytes of possible garbage, live that of
// all other memory.
func due(waiting, live int64, since time.Duration) bool {
	return waiting > max(minWaiting, live/waitingShare) && since >= minInterval
}

func (r *reliever) collect() {
	runtime.GC()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running, r.last = false, time.Now()
	r.base = process.dropped.Load() // pending cleanups will lower it
}

// goHeap is the size of the live Go heap after the last collection.
func goHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}
