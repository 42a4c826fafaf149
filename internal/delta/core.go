package delta

import (
	"container/list"
	"time"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// minDead is how many objects that came and went unseen a queue always remembers.
const minDead = 4096

// keepTable is the size up to which an emptied map is kept for reuse: a map never shrinks.
const keepTable = 1024

// core is a Queue without lock or clock: time is an argument. The zero core is empty. It is for one
// goroutine at a time.
//
// Each key has at most one slot, in the order in which keys became pending. Changes merge by
// store.Change.Merge, so that Old stays what the reader was shown last.
//
// The keys that exist do not bound the number of objects that came and went unseen. At most
// max(minDead, number of live objects) of those are kept. Beyond that the oldest is forgotten and
// counted in Stats.Dropped.
type core struct {
	slots map[object.Key]*slot
	order list.List // every slot, by arrival
	dead  list.List // those that came and went unseen, by the time they went
	live  int       // objects that live, by the changes pushed
	peak  int       // most slots since slots was made
	stats Stats
}

func (c *core) push(now time.Time, ch store.Change) {
	c.stats.Pushed++
	switch {
	case ch.Old == nil && ch.New != nil:
		c.live++
	case ch.Old != nil && ch.New == nil:
		c.live--
	}
	s := c.slots[ch.Key]
	if s == nil {
		s = &slot{Item: Item{Change: ch, Since: now}}
		if c.slots == nil {
			c.slots = map[object.Key]*slot{}
		}
		c.slots[ch.Key] = s
		c.peak = max(c.peak, len(c.slots))
		s.place = c.order.PushBack(s)
	} else {
		c.stats.Merged++
		s.Change = s.Change.Merge(ch)
	}
	c.bury(s)
}

// bury keeps the list of the dead in step with s, and within its bound.
func (c *core) bury(s *slot) {
	switch dead := s.Change.Old == nil && s.Change.New == nil; {
	case dead && s.dead == nil:
		s.dead = c.dead.PushBack(s)
	case !dead && s.dead != nil:
		c.dead.Remove(s.dead)
		s.dead = nil
	}
	for c.dead.Len() > max(minDead, c.live) {
		c.remove(c.dead.Front())
		c.stats.Dropped++
	}
}

func (c *core) mark(now time.Time) {
	s := &slot{Item: Item{Mark: true, Since: now}}
	s.place = c.order.PushBack(s)
}

// next hands out what has waited longest; false if nothing is pending.
func (c *core) next() (Item, bool) {
	if c.order.Len() == 0 {
		return Item{}, false
	}
	return c.remove(c.order.Front()), true
}

// remove removes the slot of an element of one of the lists.
func (c *core) remove(e *list.Element) Item {
	s := e.Value.(*slot)
	c.order.Remove(s.place)
	if s.dead != nil {
		c.dead.Remove(s.dead)
	}
	if !s.Mark {
		delete(c.slots, s.Change.Key)
	}
	if len(c.slots) == 0 && c.peak > keepTable {
		c.slots, c.peak = nil, 0
	}
	return s.Item
}

func (c *core) figures(now time.Time) Stats {
	s := c.stats
	if s.Depth = c.order.Len(); s.Depth > 0 {
		s.Oldest = now.Sub(c.order.Front().Value.(*slot).Since)
	}
	return s
}

// slot is a pending item, with its places in the two lists.
type slot struct {
	Item
	place, dead *list.Element // dead is nil if it is not there
}
