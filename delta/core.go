package delta

import (
	"slices"
	"time"

	"github.com/flyball-io/flyball/object"
)

// Core is the queue between the one who hears of changes and the one who applies them, without
// lock or clock. The zero Core is empty and ready. It is for one goroutine at a time.
//
// Keys stand in the order in which they first became pending. A key that changes again before it
// was taken keeps its place and its slot:
//
//	Added   + Updated            Added, newest state
//	Updated + Updated            Updated, newest state
//	Added   + Deleted            Deleted, Came: it came and went
//	Updated + Deleted            Deleted
//	Deleted + Added              Updated (two uids, or one that was out of sight for a while)
//	Sync    + anything           that
//	anything + Sync              unchanged
//
// An incarnation that gives way to another one is noted in Delta.Unseen.
//
// A state older than the pending one of the same uid is ignored, and so is the deletion of an
// incarnation older than the pending one.
//
// Nothing is merged across a barrier: every item of a relist is a slot of its own behind the
// BeginReplace, and events that follow EndReplace are behind that. A relist that breaks off takes
// its pending items with it. When a relist is whole, one before it that nobody has taken yet is
// forgotten, together with what came between the two, since the later list says it all. So the
// queue holds at most a few slots for each key, however often the server is listed while the
// consumer is stuck. A deletion forgotten that way is found by the sweep, as a missed one; the
// incarnations forgotten that way are not told, as those that the server itself does not list.
type Core[V Value[V]] struct {
	pending []Delta[V]
	// slots finds the pending change of a key behind the last barrier.
	slots map[object.Key]int
	// open: a relist has begun and has not ended. begin is then the place of its BeginReplace in
	// pending, or -1 if that was taken already.
	open  bool
	begin int
	stats Stats
}

// Push takes in one change: t is Added, Updated, Deleted or Replaced, anything else is ignored.
// The key is that of the header of v.
func (c *Core[V]) Push(now time.Time, t Type, v V) {
	if t < Added || t > Replaced {
		return
	}
	c.stats.Pushed++
	key := v.Header().Key
	if i, ok := c.slots[key]; ok {
		c.merge(&c.pending[i], t, v)
		return
	}
	c.add(Delta[V]{Type: t, Key: key, Value: v, Since: now})
}

// Sync asks for another look at key.
func (c *Core[V]) Sync(now time.Time, key object.Key) {
	c.stats.Pushed++
	if _, ok := c.slots[key]; ok {
		c.stats.Merged++
		return
	}
	c.add(Delta[V]{Type: Sync, Key: key, Since: now})
}

func (c *Core[V]) add(d Delta[V]) {
	if c.slots == nil {
		c.slots = map[object.Key]int{}
	}
	c.slots[d.Key] = len(c.pending)
	c.pending = append(c.pending, d)
}

func (c *Core[V]) merge(p *Delta[V], t Type, v V) {
	c.stats.Merged++
	if p.Type == Sync {
		p.Type, p.Value = t, v
		return
	}
	was, is := p.Value.Header(), v.Header()
	same := is.Same(was)
	// A uid that was deleted is gone for good, so its deletion counts whatever its version.
	if older(is, was) && same != (t == Deleted) {
		c.stats.Merged--
		c.stats.Stale++
		return
	}
	if !same {
		p.Unseen = p.Unseen.Then(was.UID)
	}
	switch {
	case t == Deleted:
		p.Came = p.Came || p.Type == Added
		p.Type = Deleted
	case p.Type == Deleted && t == Replaced:
		p.Type, p.Came = Replaced, false
	case p.Type == Deleted && p.Came:
		p.Type, p.Came = Added, false
	case p.Type == Deleted:
		p.Type = Updated
	}
	p.Value = v
}

// BeginReplace opens a relist. One that was open is aborted first. reset says that the server
// went back in time: what it lists counts even where it is older than what is known.
func (c *Core[V]) BeginReplace(now time.Time, reset bool) {
	c.AbortReplace(now)
	c.open, c.begin = true, len(c.pending)
	c.barrier(Delta[V]{Type: BeginReplace, Reset: reset, Since: now})
}

// EndReplace closes the open relist as whole; version is the resourceVersion of the list. Without
// an open relist it does nothing.
func (c *Core[V]) EndReplace(now time.Time, version string) {
	if !c.open {
		return
	}
	c.barrier(Delta[V]{Type: EndReplace, Version: version, Since: now})
	c.open = false
	if c.begin < 0 {
		return
	}
	earlier := slices.IndexFunc(c.pending[:c.begin], func(d Delta[V]) bool { return d.Type == BeginReplace })
	if earlier < 0 {
		return
	}
	for _, d := range c.pending[earlier:c.begin] {
		c.pending[c.begin].Reset = c.pending[c.begin].Reset || d.Reset
		if !d.Type.Barrier() {
			c.stats.Merged++
		}
	}
	c.pending = slices.Delete(c.pending, earlier, c.begin)
}

// AbortReplace gives up the open relist: its items that were not taken are forgotten, and an
// AbortReplace is handed out if its BeginReplace was. Without an open relist it does nothing.
func (c *Core[V]) AbortReplace(now time.Time) {
	if !c.open {
		return
	}
	c.open = false
	if c.begin < 0 {
		c.drop(0)
		c.barrier(Delta[V]{Type: AbortReplace, Since: now})
		return
	}
	c.drop(c.begin)
	// The list never was: changes to come merge with those before it.
	clear(c.slots)
	for i := len(c.pending) - 1; i >= 0 && !c.pending[i].Type.Barrier(); i-- {
		c.slots[c.pending[i].Key] = i
	}
}

func (c *Core[V]) drop(from int) {
	for _, d := range c.pending[from:] {
		if !d.Type.Barrier() {
			c.stats.Merged++
		}
	}
	c.pending = slices.Delete(c.pending, from, len(c.pending))
}

func (c *Core[V]) barrier(d Delta[V]) {
	c.forgetSlots()
	c.pending = append(c.pending, d)
}

// keepTable is the size up to which an emptied map is kept for use again: a map never shrinks.
const keepTable = 1024

func (c *Core[V]) forgetSlots() {
	if len(c.slots) > keepTable {
		c.slots = nil
		return
	}
	clear(c.slots)
}

// TakeAll hands out everything pending, in order. The slice is the caller's, who gives another one as
// room for what comes: nil, or the one before, cleared.
func (c *Core[V]) TakeAll(room []Delta[V]) []Delta[V] {
	out := c.pending
	if cap(room) > keepTable {
		room = nil
	}
	c.pending = room[:0]
	c.forgetSlots()
	c.begin = -1
	return out
}

// Stats counts what is pending and what was done, as of now. Barriers count in Depth.
func (c *Core[V]) Stats(now time.Time) Stats {
	s := c.stats
	s.Depth = len(c.pending)
	if s.Depth > 0 {
		s.Oldest = now.Sub(c.pending[0].Since)
	}
	return s
}
