package store

import (
	"iter"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/object"
)

// Change is what happened to one key between two published states of the store.
//
//	Old == nil, New != nil   the object appeared
//	Old != nil, New != nil   it changed, or was deleted and made again under one name (two UIDs)
//	Old != nil, New == nil   it went; Last is its final state
//	Old == nil, New == nil   it came and went before anyone could see it; Last is its final state
//
// New may be an entry that was set aside: then the object is there and cannot be used, and
// New.Err says why.
type Change struct {
	Key object.Key
	Old *Entry
	New *Entry
	// Last is the final state of an object that went: with the resourceVersion of the deletion,
	// or, if Missed, as it was last seen.
	Last *Entry
	// Unseen are the incarnations that came and went between Old and New, or Last, of which this change
	// shows nothing else; nil, mostly: none. See Ended. What happened while nobody watched, so that a
	// list told what had become of it, is not among them: a list shows one incarnation of a name.
	Unseen *object.Incarnations
	// Initial marks the first list of the kind.
	Initial bool
	// Missed marks a deletion that nobody saw: the object was absent from a later list.
	Missed bool
	// Resync marks a repeated look at an object that did not change; Old and New are the same entry.
	Resync bool
	// Reset marks what is reported after the server itself went back in time (a restored etcd):
	// every object, whatever its version is compared to Old. Nobody should filter it out for
	// having changed too little.
	Reset bool
}

// Deleted reports whether the object is gone after this change.
func (c Change) Deleted() bool { return c.New == nil }

// Replaced reports whether one object went and another of the same name came.
func (c Change) Replaced() bool { return c.Old != nil && c.New != nil && !c.Old.SameUID(c.New) }

// Ended are the incarnations that this change is the end of, in the order in which they went: that of
// Old if it is not that of New, those in Unseen, and that of Last. If more were merged into the change
// than Unseen names, complete is false: then whoever waits for the end of one asks the server.
func (c Change) Ended() (uids []types.UID, complete bool) {
	after := c.New
	if after == nil {
		after = c.Last
	}
	if c.Old != nil && after != nil && !c.Old.SameUID(after) {
		uids = append(uids, c.Old.UID())
	}
	uids = append(uids, c.Unseen.All()...)
	if c.New == nil && after != nil {
		uids = append(uids, after.UID())
	}
	return uids, c.Unseen.Len() == len(c.Unseen.All())
}

// Changes are what a Commit changed. A list of any length costs a few bytes for each, and the entries are
// made as they are yielded, from the states before and after the Commit, which it holds.
type Changes struct {
	first   []Change
	notes   []note
	implied bool // all in the new state are new; notes are of others
	initial bool
	was, is *Snapshot
}

// Len is how many there are.
func (c Changes) Len() int {
	n := len(c.first)
	if c.implied {
		n += c.is.Len()
	}
	for _, note := range c.notes {
		if !c.implied || note.flags&noteGone != 0 {
			n++
		}
	}
	return n
}

// All yields them, in their order. Each time the entries are made anew.
func (c Changes) All() iter.Seq[Change] {
	return func(yield func(Change) bool) {
		for _, ch := range c.first {
			if !yield(ch) {
				return
			}
		}
		for _, n := range c.notes {
			if c.implied && n.flags&noteGone == 0 {
				continue // below, among the others
			}
			if !yield(c.change(n)) {
				return
			}
		}
		if !c.implied {
			return
		}
		for slot := range c.is.keys.All() {
			if !yield(c.change(note{slot: slot})) {
				return
			}
		}
	}
}

// change is what a note says.
func (c Changes) change(n note) Change {
	ch := Change{
		Unseen: n.passed, Initial: c.initial, Missed: n.flags&noteMissed != 0, Resync: n.flags&noteResync != 0, Reset: n.flags&noteReset != 0,
	}
	last := n.last
	switch {
	case n.flags&noteGone != 0:
	case ch.Resync:
		last = c.is.entry(n.slot, nil)
		ch.New, ch.Old = last, last
	default:
		if last = n.fresh; last == nil || c.is.asides.Get(n.slot) != nil {
			last = c.is.entry(n.slot, nil)
		}
		ch.New = last
	}
	if !n.unseen && !ch.Resync {
		var key *object.Key // of the state before, in the same strings
		if last != nil {
			key = &last.key
		}
		ch.Old = c.was.entry(n.slot, key)
	}
	if ch.New == nil {
		if ch.Last = last; last == nil {
			ch.Last = ch.Old
		}
		last = ch.Last
	}
	ch.Key = last.key
	return ch
}
