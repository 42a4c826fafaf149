package heap

import (
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
)

// epochs say when all readers have gone that were there at some time. A reader counts itself in the
// epoch of now; now moves on when nobody is left in the one before. So who was there in epoch e has
// gone when now is e+2.
type epochs struct {
	now    atomic.Uint32
	shards []shard // a power of two; a reader takes any
}

// shard counts the readers of four epochs: a cache line and the next, which is fetched with it.
type shard struct {
	in [4]atomic.Int64
	_  [96]byte
}

func newEpochs() *epochs {
	n := 1 << bits.Len(uint(min(runtime.GOMAXPROCS(0), 32)-1))
	return &epochs{shards: make([]shard, n)}
}

func (e *epochs) enter() *atomic.Int64 {
	s := &e.shards[rand.Uint32()&uint32(len(e.shards)-1)]
	for {
		now := e.now.Load()
		c := &s.in[now&3]
		c.Add(1)
		if e.now.Load() == now {
			return c
		}
		c.Add(-1) // now may have moved on without seeing it
	}
}

// advance begins an epoch if it may. The writer's.
func (e *epochs) advance() bool {
	now := e.now.Load()
	for i := range e.shards {
		if e.shards[i].in[(now-1)&3].Load() != 0 {
			return false
		}
	}
	e.now.Store(now + 1)
	return true
}

// gone reports whether all have gone that were there in the epoch.
func (e *epochs) gone(epoch uint32) bool { return int32(e.now.Load()-epoch) >= 2 }

// Guard says that a reader is there. It is for one goroutine at a time.
type Guard struct {
	c *atomic.Int64
	h *Heap // so that it stays
}

// Pin says that somebody looks at bytes: those that [Heap.Bytes] returns until Release do not
// change, also when the Hold that let it ask is released before. It never waits. It is meant for microseconds: until Release the chunks that compaction
// emptied are not given back.
func (h *Heap) Pin() Guard { return Guard{h.pins.enter(), h} }

// Hold says that somebody keeps Refs: those of records that are not freed yet stay valid until
// Release. It never waits. It may be held for long; what is freed meanwhile is not given back, also
// if it came after the Hold. The Refs must be got after it: take a Hold, then load the snapshot.
func (h *Heap) Hold() Guard { return Guard{h.holds.enter(), h} }

// Release ends a Pin or a Hold. More than one Release of a Guard has no effect; the zero Guard has
// nothing to release.
func (g *Guard) Release() {
	if g.c != nil {
		g.c.Add(-1)
		runtime.KeepAlive(g.h)
		*g = Guard{}
	}
}

// dead is a record that was freed, and when.
type dead struct {
	ref   Ref
	epoch uint32
}

// limbo is where they wait, the oldest first.
type limbo struct {
	all  []dead
	next int
}

func (l *limbo) push(ref Ref, e *epochs) { l.all = append(l.all, dead{ref, e.now.Load()}) }

// ripe reports whether all have gone that were there when the first was pushed.
func (l *limbo) ripe(e *epochs) bool { return l.next < len(l.all) && e.gone(l.all[l.next].epoch) }

func (l *limbo) pop() Ref {
	ref := l.all[l.next].ref
	l.next++
	switch {
	case l.next == len(l.all) && cap(l.all) > 4096:
		l.all, l.next = nil, 0
	case l.next == len(l.all):
		l.all, l.next = l.all[:0], 0
	case l.next >= 1024 && l.next > len(l.all)/2:
		l.all, l.next = append(l.all[:0], l.all[l.next:]...), 0
	}
	return ref
}
