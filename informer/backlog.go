package informer

import (
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// backlog is what one handler has not been shown yet: one slot for each key, in the order in
// which the keys came in. A change to a key that already waits is merged into its slot, which
// keeps its place. Its size is bounded by the keys that live or that the handler was shown,
// never by the number of changes.
//
// It is a pure core: no lock, no goroutine, no clock.
type backlog struct {
	slots      map[object.Key]*slot
	head, tail *slot
	high       int // the most slots since the map was made

	initial int  // initial adds that were pushed and whose callbacks have not returned
	listed  bool // no more initial adds will come
}

type slot struct {
	change     store.Change
	prev, next *slot
}

// push adds a change or merges it with what waits for its key. A change that leaves nothing to
// tell, as when an object goes before the handler was shown it, takes its slot away.
func (b *backlog) push(c store.Change) {
	s := b.slots[c.Key]
	if s == nil {
		if c.Old == nil && c.New == nil {
			return
		}
		b.add(c)
		return
	}
	if c.Resync {
		return // what waits shows the same state, or tells more
	}
	initial := s.change.Initial
	s.change = merge(s.change, c)
	if s.change.Old == nil && s.change.New == nil {
		b.remove(s)
		if initial {
			b.initial--
		}
	}
}

// merge is the one change that leads where first and then second led.
func merge(first, second store.Change) store.Change {
	m := first
	m.New, m.Resync = second.New, false
	m.Last, m.Missed = nil, false
	if second.New == nil {
		m.Last, m.Missed = second.Last, second.Missed
		if first.New == nil && first.Last != nil {
			// Another object came and went under the name: what the handler knew went before.
			m.Last, m.Missed = first.Last, first.Missed
		}
	}
	return m
}

// pop takes the oldest slot. Whoever takes one reports with done that it has been dealt with.
func (b *backlog) pop() (store.Change, bool) {
	s := b.head
	if s == nil {
		return store.Change{}, false
	}
	b.remove(s)
	return s.change, true
}

// done notes that the callback for a change taken by pop has returned.
func (b *backlog) done(c store.Change) {
	if c.Initial {
		b.initial--
	}
}

// synced reports whether every initial add has been dealt with.
func (b *backlog) synced() bool { return b.listed && b.initial == 0 }

func (b *backlog) len() int { return len(b.slots) }

func (b *backlog) add(c store.Change) {
	if b.slots == nil {
		b.slots = make(map[object.Key]*slot)
	}
	s := &slot{change: c, prev: b.tail}
	if b.tail == nil {
		b.head = s
	} else {
		b.tail.next = s
	}
	b.tail = s
	b.slots[c.Key] = s
	b.high = max(b.high, len(b.slots))
	if c.Initial {
		b.initial++
	}
}

func (b *backlog) remove(s *slot) {
	if s.prev == nil {
		b.head = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next == nil {
		b.tail = s.prev
	} else {
		s.next.prev = s.prev
	}
	s.prev, s.next = nil, nil
	delete(b.slots, s.change.Key)
	if len(b.slots) == 0 && b.high > 1024 {
		b.slots, b.high = nil, 0 // a Go map never shrinks
	}
}
