package handlers

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// event is what happened to one key, for one handler. Its states are those of store.Change.
type event struct {
	from           *decoded
	change         *shown // it keeps the states for other handlers
	key            object.Key
	old, new, last *state
	// ended has the incarnations that began and ended between old and new, or last.
	ended   []types.UID
	initial bool
	missed  bool
	resync  bool
	mark    bool // the initial events are behind; the other fields are not set
}

// newEvent returns the event of a change.
func newEvent(d *decoded, c store.Change) *event {
	s := d.show(c)
	e := &event{
		from: d, key: c.Key, old: s.old, new: s.new, last: s.last,
		ended: slices.Clone(c.Unseen.All()), initial: c.Initial, missed: c.Missed, resync: c.Resync,
	}
	if !c.Initial {
		e.change = s
	}
	return e
}

// after is the newest state.
func (e *event) after() *state {
	if e.new != nil {
		return e.new
	}
	return e.last
}

// merge adds a later event of the same key to e, which nobody has seen yet.
func (e *event) merge(later *event) {
	if later.resync {
		return
	}
	between := e.after()
	m := *later
	m.old = e.old
	// An add stays one of the first list while it waits, unless the object went in between.
	m.initial = later.initial || e.initial && (e.new != nil || later.new == nil)
	m.ended = e.ended
	if between != nil && !sameUID(between, m.after()) {
		m.ended = append(m.ended, between.entry.UID())
	}
	m.ended = append(m.ended, later.ended...)
	m.ended = slices.DeleteFunc(m.ended, func(uid types.UID) bool { return shows(m.old, uid) || shows(m.after(), uid) })
	*e = m
}

func sameUID(a, b *state) bool { return a != nil && b != nil && a.entry.SameUID(b.entry) }

func shows(s *state, uid types.UID) bool { return s != nil && s.entry.UID() == uid }

// backlog has the pending events of one handler, in the order of their arrival. Up to limit it keeps each event.
// Beyond that it merges an event into the last pending one of its key, unless that is of the first list.
type backlog struct {
	limit  int
	events []*event // from head
	head   int
	last   map[object.Key]*event
	merged uint64
}

func (b *backlog) push(e *event) {
	if e.mark {
		b.events = append(b.events, e)
		return
	}
	if pending := b.last[e.key]; pending != nil && (e.resync || b.len() >= b.limit) {
		b.merged++
		pending.merge(e)
		return
	}
	b.events = append(b.events, e)
	if e.initial { // each key comes once: so a first list needs no index
		return
	}
	if b.last == nil {
		b.last = map[object.Key]*event{}
	}
	b.last[e.key] = e
}

// next returns the event that has waited longest; nil if there is none.
func (b *backlog) next() *event {
	if b.head == len(b.events) {
		return nil
	}
	e := b.events[b.head]
	b.events[b.head] = nil
	b.head++
	if b.last[e.key] == e {
		delete(b.last, e.key)
	}
	switch {
	case b.head == len(b.events): // a long backlog gives its memory back
		if b.head = 0; cap(b.events) > maxKept {
			b.events, b.last = nil, nil
		}
		b.events = b.events[:0]
	case b.head > maxKept && b.head > len(b.events)/2:
		b.events = slices.Clone(b.events[b.head:])
		b.head = 0
	}
	return e
}

// maxKept is the number of events for which an empty backlog keeps memory.
const maxKept = 1024

func (b *backlog) len() int { return len(b.events) - b.head }
