package informer

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// muchLess is by how many bytes a store must have become smaller before the Go runtime is asked
	// to give memory back.
	muchLess = 8 << 20
	// quietFor is how long nothing must have come before memory is released: it would soon be needed
	// again.
	quietFor = 2 * time.Second
	// idlePause is how long after a change the store is compacted.
	idlePause = 100 * time.Millisecond
)

// idler is what the applier knows about releasing memory.
type idler struct {
	timer     *time.Timer // wakes the applier for the next look
	set       bool        // timer runs
	most      int64       // bytes that the store held since it was last found much smaller
	came      uint64      // changes until the last look
	quiet     time.Time   // when it will have been quiet for long enough
	releasing atomic.Bool // a goroutine does
}

// lookIn has the applier look for memory to release after a pause, or earlier.
func (i *idler) lookIn(pause time.Duration) {
	if !i.set {
		i.set = true
		i.timer.Reset(pause)
	}
}

// releaseIdle compacts the store while nothing comes. After two quiet seconds it drops buffers, and has a
// store rebuilt that has lost most of its objects. If that made it much smaller it has memory given back
// to the system. Left to itself the Go runtime would see to it within minutes.
func (a *applier) releaseIdle(now time.Time) {
	a.idle.set = false
	if a.txn != nil {
		return
	}
	in, i := a.in, &a.idle
	for a.inbox.len() == 0 && in.store.Compact() {
	}
	stats := in.store.Stats()
	held := stats.Held - stats.Dropped
	i.most = max(i.most, held)
	if n := a.inbox.pushed.Load(); n != i.came {
		i.came, i.quiet = n, now.Add(quietFor)
	}
	if now.Before(i.quiet) {
		i.lookIn(i.quiet.Sub(now))
		return
	}
	in.spare.drop()
	in.store.ReleaseBuffers()
	less := held <= i.most/2 && i.most-held >= muchLess
	if !less && !in.store.Sparse() || !i.releasing.CompareAndSwap(false, true) {
		return
	}
	if less {
		i.most = held
	}
	in.group.Go("release memory of "+in.o.Kind.GVK.Kind, func(context.Context) error {
		defer i.releasing.Store(false)
		in.store.Rebuild()
		if less {
			giveBack()
		}
		return nil
	})
}

var givingBack sync.Mutex

// giveBack collects garbage and returns what is free to the system, for one informer after another.
// Others go on meanwhile.
var giveBack = func() {
	givingBack.Lock()
	defer givingBack.Unlock()
	debug.FreeOSMemory()
}
