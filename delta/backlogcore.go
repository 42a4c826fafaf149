package delta

import (
	"time"

	"github.com/flyball-io/flyball/object"
)

// MinDead is how many objects that came and went unseen a backlog always remembers; see
// BacklogCore.
const MinDead = 4096

// BacklogCore is what one handler has not been told yet, without lock or clock. The zero
// BacklogCore is empty and ready. It is for one goroutine at a time.
//
// Each key has at most one slot, in the order in which keys became pending. Changes merge so that
// Old stays what the handler was shown last and New is the newest state:
//
//	add + update               add of the newest
//	update + update            update: first old, last new
//	update + delete            delete: old as shown, final state
//	delete + add               one update, with two uids
//	add + delete               it came and went: Old and New are zero, Last is the final state
//	came and went + add        add
//	anything + resync          unchanged
//
// Incarnations that were not shown and are not shown any more are noted in Change.Unseen, the latest
// object.MaxIncarnations of a key by their UIDs.
//
// Objects that came and went unseen are the only slots whose number is not bounded by the keys
// there are. At most max(MinDead, number of live objects) of them are kept; beyond that the oldest
// is forgotten and counted in Stats.Dropped. So a handler that blocks for ever costs one slot for
// each key it was shown or that lives, and no more.
type BacklogCore[V Value[V]] struct {
	slots map[object.Key]*slot[V]
	order list[V] // every slot, by arrival
	dead  list[V] // those that came and went unseen, by the time they went
	live  int     // objects that live, as told by the changes pushed
	peak  int     // most slots since slots was made
	stats Stats
}

// Item is one thing that a backlog hands out.
type Item[V Value[V]] struct {
	// Change is what to tell the handler; without meaning if Mark.
	Change Change[V]
	// Mark says that everything pushed before the call of Mark has been handed out.
	Mark bool
	// Since is when the oldest change merged into this one was pushed.
	Since time.Time
}

// Push takes in one change. Changes of one key must come one after the other: Old of a change is
// New of the one before.
func (b *BacklogCore[V]) Push(now time.Time, c Change[V]) {
	b.stats.Pushed++
	var none V
	switch {
	case c.Old == none && c.New != none:
		b.live++
	case c.Old != none && c.New == none:
		b.live--
	}
	s := b.slots[c.Key]
	if s == nil {
		s = &slot[V]{Item: Item[V]{Change: c, Since: now}}
		if b.slots == nil {
			b.slots = map[object.Key]*slot[V]{}
		}
		b.slots[c.Key] = s
		b.peak = max(b.peak, len(b.slots))
		b.order.push(byArrival, s)
	} else {
		b.stats.Merged++
		s.Change = Merge(s.Change, c)
	}
	b.bury(s)
}

// Merge is the rule of BacklogCore: p is pending, c comes after it.
func Merge[V Value[V]](p, c Change[V]) Change[V] {
	var none V
	if c.Resync {
		return p
	}
	m := c
	m.Old = p.Old
	m.Reset = c.Reset || p.Reset
	m.Unseen = unseen(p, c, m)
	// An add stays part of the first list while it waits, unless the object went in between.
	m.Initial = c.Initial || p.Initial && (p.New != none || c.New == none)
	return m
}

// unseen are the incarnations that came and went within m, which p and c are merged into: those of p
// and of c, and the one that was there between them, but for those that m shows.
func unseen[V Value[V]](p, c, m Change[V]) *object.Incarnations {
	var none V
	between, after := p.New, m.New
	if between == none {
		between = p.Last
	}
	if after == none {
		after = m.Last
	}
	all := p.Unseen
	if between != none && after != none && !between.SameUID(after) {
		all = all.Then(between.Header().UID)
	}
	all = all.Join(c.Unseen)
	if all == nil {
		return nil
	}
	for _, shown := range []V{m.Old, after} {
		if shown != none {
			all = all.Without(shown.Header().UID) // Old, or one that a server brought back
		}
	}
	return all
}

// bury keeps the list of the dead in step with s, and within its bound.
func (b *BacklogCore[V]) bury(s *slot[V]) {
	var none V
	dead := s.Change.Old == none && s.Change.New == none
	switch {
	case dead && !s.dead:
		b.dead.push(byDeath, s)
	case !dead && s.dead:
		b.dead.remove(byDeath, s)
	}
	s.dead = dead
	for b.dead.len > max(MinDead, b.live) {
		b.remove(b.dead.first)
		b.stats.Dropped++
	}
}

// Mark puts a mark behind everything pending. Marks are never merged or dropped; a few at a time
// are meant, such as the end of the initial list.
func (b *BacklogCore[V]) Mark(now time.Time) {
	b.order.push(byArrival, &slot[V]{Item: Item[V]{Mark: true, Since: now}})
}

// Next hands out what has waited longest; false if nothing is pending.
func (b *BacklogCore[V]) Next() (Item[V], bool) {
	s := b.order.first
	if s == nil {
		return Item[V]{}, false
	}
	b.remove(s)
	return s.Item, true
}

func (b *BacklogCore[V]) remove(s *slot[V]) {
	b.order.remove(byArrival, s)
	if s.dead {
		b.dead.remove(byDeath, s)
	}
	if !s.Mark {
		delete(b.slots, s.Change.Key)
	}
	if len(b.slots) == 0 && b.peak > keepTable {
		b.slots, b.peak = nil, 0
	}
}

// Stats counts what is pending and what was done, as of now.
func (b *BacklogCore[V]) Stats(now time.Time) Stats {
	s := b.stats
	s.Depth = b.order.len
	if b.order.first != nil {
		s.Oldest = now.Sub(b.order.first.Since)
	}
	return s
}

// slot is a pending item, with its places in two lists.
type slot[V Value[V]] struct {
	Item[V]
	dead  bool
	links [2]struct{ prev, next *slot[V] }
}

// The two lists a slot can be in.
const (
	byArrival = iota
	byDeath
)

// list is a doubly linked list through slot.links[which].
type list[V Value[V]] struct {
	first, last *slot[V]
	len         int
}

func (l *list[V]) push(which int, s *slot[V]) {
	s.links[which].prev = l.last
	if l.last == nil {
		l.first = s
	} else {
		l.last.links[which].next = s
	}
	l.last = s
	l.len++
}

func (l *list[V]) remove(which int, s *slot[V]) {
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
