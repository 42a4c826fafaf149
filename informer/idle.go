package informer

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// minShrink is how many bytes a store must shrink before freed memory is returned to the system.
	minShrink = 8 << 20
	// idleAfter is the time without changes after which memory is released. Sooner, it would be needed
	// for the next changes.
	idleAfter = 2 * time.Second
	// compactAfter is the time between a change and the compaction of the store.
	compactAfter = 100 * time.Millisecond
)

// idler is the state of the release of idle memory. The applier owns it, except releasing.
type idler struct {
	timer     *time.Timer // wakes the applier for the next releaseIdle
	armed     bool        // timer runs
	peak      int64       // most bytes that the store held since memory was last returned to the system
	pushed    uint64      // the number of updates at the last releaseIdle
	idleAt    time.Time   // when idleAfter has passed since the last change
	releasing atomic.Bool // a goroutine releases memory
}

// schedule sets the timer, unless it runs already.
func (i *idler) schedule(pause time.Duration) {
	if !i.armed {
		i.armed = true
		i.timer.Reset(pause)
	}
}

// releaseIdle compacts the store while no update is pending. After two seconds without a change it drops
// buffers, and rebuilds a store that has lost most of its objects. If the store has shrunk much, it returns
// freed memory to the system. The Go runtime alone would take minutes.
func (a *applier) releaseIdle(now time.Time) {
	a.idle.armed = false
	if a.txn != nil {
		return
	}
	in, i := a.in, &a.idle
	in.dropUnusedIndexes(now)
	for a.inbox.len() == 0 && in.store.Compact() {
	}
	stats := in.store.Stats()
	held := stats.Held - stats.Dropped
	i.peak = max(i.peak, held)
	if n := a.inbox.pushed.Load(); n != i.pushed {
		i.pushed, i.idleAt = n, now.Add(idleAfter)
	}
	if now.Before(i.idleAt) {
		i.schedule(i.idleAt.Sub(now))
		return
	}
	in.buffers.clear()
	in.store.ReleaseBuffers()
	shrunk := held <= i.peak/2 && i.peak-held >= minShrink
	if !shrunk && !in.store.Sparse() || !i.releasing.CompareAndSwap(false, true) {
		return
	}
	if shrunk {
		i.peak = held
	}
	in.group.Go("release memory of "+in.o.Kind.GVK.Kind, func(context.Context) error {
		defer i.releasing.Store(false)
		in.store.Rebuild()
		if shrunk {
			returnMemory()
		}
		return nil
	})
}

var returning sync.Mutex

// returnMemory collects garbage, and returns freed memory to the system. One call runs at a time; informers
// do not wait for it.
var returnMemory = func() {
	returning.Lock()
	defer returning.Unlock()
	debug.FreeOSMemory()
}
