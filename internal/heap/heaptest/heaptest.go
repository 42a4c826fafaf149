// Package heaptest measures, for tests, what a process holds: in the Go heap and in the chunks of
// package heap, which the figures of the Go runtime do not have.
package heaptest

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/flyball-io/flyball/internal/heap"
)

// Live is what is reachable, in bytes. It collects the garbage and waits for cleanups, until nothing
// more is freed.
func Live() int64 {
	for last := int64(math.MaxInt64); ; {
		ran := make(chan struct{})
		runtime.AddCleanup(&[]byte{0: 1, 1 << 10: 1}[0], func(ran chan struct{}) { close(ran) }, ran)
		runtime.GC()
		<-ran
		// The next collection finds what a cleanup lets go. Cleanups run beside each other: that of a
		// chunk may end after the one above.
		mapped, _ := heap.Process()
		if mapped == last {
			return now()
		}
		last = mapped
	}
}

// now is what is there, garbage included.
func now() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	mapped, _ := heap.Process()
	return int64(sample[0].Value.Uint64()) + mapped
}

// Peak watches for the most that is there at a time, garbage included.
type Peak struct {
	stop chan struct{}
	most chan int64
}

// WatchPeak begins. It looks every 5 ms until End.
func WatchPeak() *Peak {
	p := &Peak{make(chan struct{}), make(chan int64)}
	go p.watch()
	return p
}

func (p *Peak) watch() {
	often := time.NewTicker(5 * time.Millisecond)
	defer often.Stop()
	for most := now(); ; most = max(most, now()) {
		select {
		case <-often.C:
		case <-p.stop:
			p.most <- max(most, now())
			return
		}
	}
}

// End looks a last time and returns the most that was seen, in bytes. It is called once.
func (p *Peak) End() int64 {
	close(p.stop)
	return <-p.most
}
