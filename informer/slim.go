package informer

import (
	"context"
	"runtime/debug"
	"sync"
	"time"
)

const (
	// muchLess is by how many bytes a store must have become smaller before the Go runtime is asked
	// to give memory back.
	muchLess = 8 << 20
	// quietFor is how long nothing must have come before memory is let go: it would soon be needed
	// again.
	quietFor = 2 * time.Second
)

// slim lets go, when nothing comes any more, of what was kept for more of it, and has a store
// condensed of which most has gone. And if the store holds less than half of what it held it has memory
// given back to the system. Left to itself the Go runtime would see to it within minutes, and what
// readers of older states keep from the store waits for it, too.
func (a *applier) slim(now time.Time) {
	held := a.in.store.Stats().Held - a.in.store.Reclaimable()
	a.most = max(a.most, held)
	if n := a.in.fifo.Stats().Pushed; n != a.came {
		a.came, a.quiet = n, now.Add(quietFor)
	}
	if now.Before(a.quiet) {
		a.tidySoon(a.quiet.Sub(now))
		return
	}
	a.in.spare.drop()
	a.in.store.Rest()
	less := held <= a.most/2 && a.most-held >= muchLess
	if !less && !a.in.store.Sparse() || !a.slimming.CompareAndSwap(false, true) {
		return
	}
	if less {
		a.most = held
	}
	a.in.group.Go("give back "+a.in.o.Kind.GVK.Kind, func(context.Context) error {
		defer a.slimming.Store(false)
		a.in.store.Condense()
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
