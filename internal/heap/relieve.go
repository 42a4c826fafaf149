package heap

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// minWaiting are the bytes outside the Go heap that may wait for the collector in any case.
	minWaiting = 16 << 20
	// waitingShare is the part of all memory that may wait: the Go runtime itself lets the whole size
	// of its heap become garbage.
	waitingShare = 4
	// relief is the least time between two collections that are asked for.
	relief = 100 * time.Millisecond
)

// reliever knows when a collection was asked for.
type reliever struct {
	mu      sync.Mutex
	last    time.Time
	base    int64 // the least that waited since then: versions that are held keep it
	running bool
}

var relieving reliever

// Relieve starts a collection in the background if more dropped chunks wait for it than a quarter of
// the memory of the process, and more than 16 MiB; but not twice in 100 ms. The collector knows
// nothing of memory outside its heap, so without this it could wait for long: in a program that
// allocates little, has a large heap, or runs with GOGC=off. Call it after chunks were dropped.
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

// due decides: waiting are the bytes that may be found to be garbage, live those of all other memory.
func due(waiting, live int64, since time.Duration) bool {
	return waiting > max(minWaiting, live/waitingShare) && since >= relief
}

func (r *reliever) collect() {
	runtime.GC()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running, r.last = false, time.Now()
	r.base = process.dropped.Load() // cleanups that are still to run make it less
}

// goHeap is what was alive in the Go heap after the last collection.
func goHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}
