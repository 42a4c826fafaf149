package delta

import (
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
	order list // every slot, by arrival
	dead  list // those that came and went unseen, by the time they went
	live  int  // objects that live, by the changes pushed
	peak  int  // most slots since slots was made
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
		c.order.push(byArrival, s)
	} else {
		c.stats.Merged++
		s.Change = s.Change.Merge(ch)
	}
	c.bury(s)
}

// bury keeps the list of the dead in step with s, and within its bound.
func (c *core) bury(s *slot) {
	dead := s.Change.Old == nil && s.Change.New == nil
	switch {
	case dead && !s.dead:
		c.dead.push(byDeath, s)
	case !dead && s.dead:
		c.dead.remove(byDeath, s)
	}
	s.dead = dead
	for c.dead.len > max(minDead, c.live) {
		c.remove(c.dead.first)
		c.stats.Dropped++
	}
}

func (c *core) mark(now time.Time) {
	c.order.push(byArrival, &slot{Item: Item{Mark: true, Since: now}})
}

// next hands out what has waited longest; false if nothing is pending.
func (c *core) next() (Item, bool) {
	s := c.order.first
	if s == nil {
		return Item{}, false
	}
	c.remove(s)
	return s.Item, true
}

func (c *core) remove(s *slot) {
	c.order.remove(byArrival, s)
	if s.dead {
		c.dead.remove(byDeath, s)
	}
	if !s.Mark {
		delete(c.slots, s.Change.Key)
	}
	if len(c.slots) == 0 && c.peak > keepTable {
		c.slots, c.peak = nil, 0
	}
}

func (c *core) figures(now time.Time) Stats {
	s := c.stats
	s.Depth = c.order.len
	if c.order.first != nil {
		s.Oldest = now.Sub(c.order.first.Since)
	}
	return s
}

// slot is a pending item, with its places in two lists.
type slot struct {
	Item
	dead  bool
	links [2]struct{ prev, next *slot }
}

// The two lists a slot can be in.
const (
	byArrival = iota
	byDeath
)

// list is a doubly linked list through slot.links[which].
type list struct {
	first, last *slot
	len         int
}

func (l *list) push(which int, s *slot) {
	s.links[which].prev = l.last
	if l.last == nil {
		l.first = s
	} else {
		l.last.links[which].next = s
	}
	l.last = s
	l.len++
}

func (l *list) remove(which int, s *slot) {
	at := &s.links[which]
	if at.prev == nil {
		l.first = at.next
	} else {
		at.prev.links[which].next = at.next
	}
	if at.next == nil {
		l.last = at.prev
	} else {
		at.next.links[which].prev = at.prev
	}
	at.prev, at.next = nil, nil
	l.len--
}
