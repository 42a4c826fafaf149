// Package heaptest measures the memory of a process, for tests: in the Go heap, and in the chunks
// of package heap, which the figures of the Go runtime leave out.
//
// Live returns the reachable bytes after collecting garbage. WatchPeak and End measure the largest
// amount in between.
package heaptest

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/flyball-io/flyball/internal/heap"
)

// Live is the number of reachable bytes. It collects garbage and waits for cleanups until nothing
// more is freed.
func Live() int64 {
	for last := int64(math.MaxInt64); ; {
		ran := make(chan struct{})
		runtime.AddCleanup(&[]byte{0: 1, 1 << 10: 1}[0], func(ran chan struct{}) { close(ran) }, ran)
		runtime.GC()
		<-ran
		// The next collection finds memory that a cleanup made unreachable. Cleanups run
		// concurrently: that of a chunk may end after the one above.
		mapped, _ := heap.Process()
		if mapped == last {
			return inUse()
		}
		last = mapped
	}
}

// inUse returns the bytes in use, garbage included.
func inUse() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	mapped, _ := heap.Process()
	return int64(sample[0].Value.Uint64()) + mapped
}

// Peak measures the largest memory in use, garbage included.
type Peak struct {
	stop chan struct{}
	most chan int64
}

// WatchPeak starts measuring. It samples every 5 ms until End.
func WatchPeak() *Peak {
	p := &Peak{make(chan struct{}), make(chan int64)}
	go p.watch()
	return p
}

func (p *Peak) watch() {
	often := time.NewTicker(5 * time.Millisecond)
	defer often.Stop()
	for most := inUse(); ; most = max(most, inUse()) {
		select {
		case <-often.C:
		case <-p.stop:
			p.most <- max(most, inUse())
			return
		}
	}
}

// End takes a last sample and returns the largest one, in bytes. Call it once.
func (p *Peak) End() int64 {
	close(p.stop)
	return <-p.most
}
