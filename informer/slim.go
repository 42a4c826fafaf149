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
	// quietFor is how long nothing must have come before that: it would soon be needed again.
	quietFor = 2 * time.Second
)

// slim has memory given back to the system when the store holds less than half of what it held, and
// nothing comes any more. Left to itself the Go runtime would see to it within minutes, and what
// readers of older states keep from the store waits for it, too.
func (a *applier) slim(now time.Time) {
	held := a.in.store.Stats().Held - a.in.store.Reclaimable()
	if held >= a.most {
		a.most = held
		return
	}
	if held > a.most/2 || a.most-held < muchLess {
		return
	}
	if n := a.in.fifo.Stats().Pushed; n != a.came {
		a.came, a.quiet = n, now.Add(quietFor)
	}
	if now.Before(a.quiet) {
		a.tidySoon(a.quiet.Sub(now))
		return
	}
	a.most = held
	a.in.group.Go("give back "+a.in.o.Kind.GVK.Kind, func(context.Context) error {
		giveBack()
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
