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
// New may be a rejected entry: the object exists and cannot be used, and New.Err says why.
type Change struct {
	Key object.Key
	Old *Entry
	New *Entry
	// Last is the final state of a deleted object: with the resourceVersion of the deletion, or, if
	// Missed, as last seen.
	Last *Entry
	// Unseen are the incarnations that came and went between Old and New, or Last. This change
	// shows nothing else of them. Nil, the common case, means none. See Ended. Incarnations that
	// ended while no watch was open are not among them: a list shows one incarnation of a name.
	Unseen *object.Incarnations
	// Initial marks the first list of the kind.
	Initial bool
	// Missed marks a deletion that no event reported: the object was absent from a later list.
	Missed bool
	// Resync marks an unchanged object that an informer shows once more; Old and New are the same entry.
	// A Commit yields none.
	Resync bool
	// Reset marks a change after the server itself went back in time (a restored etcd). Every
	// object gets one, whatever its version is compared to Old. Filters should let it pass even if
	// little changed.
	Reset bool
}

// Deleted reports whether the object no longer exists after this change.
func (c Change) Deleted() bool { return c.New == nil }

// Replaced reports whether one object ended and another of the same name began.
func (c Change) Replaced() bool { return c.Old != nil && c.New != nil && !c.Old.SameUID(c.New) }

// Ended returns the incarnations that this change ends, in the order in which they ended: that of
// Old, if New has another; those in Unseen; and that of Last. If more were merged into the change
// than Unseen names, complete is false. A caller that waits for the end of one then asks the server.
func (c Change) Ended() (uids []types.UID, complete bool) {
	after := c.latest()
	if c.Old != nil && after != nil && !c.Old.SameUID(after) {
		uids = append(uids, c.Old.UID())
	}
	uids = append(uids, c.Unseen.All()...)
	if c.New == nil && after != nil {
		uids = append(uids, after.UID())
	}
	return uids, c.Unseen.Len() == len(c.Unseen.All())
}

// latest returns the newest state, or the final one; nil if none is known.
func (c Change) latest() *Entry {
	if c.New == nil {
		return c.Last
	}
	return c.New
}

// Merge returns one change for c and later, the next change of the same key. Its Old is that of c, and its New is
// that of later:
//
//	add + update               add of the newest
//	update + update            update: first old, last new
//	update + delete            delete: old as shown, final state
//	delete + add               one update, with two uids
//	add + delete               it came and went: Old and New are nil, Last is the final state
//	came and went + add        add
//	anything + resync          unchanged
//
// Incarnations that were not shown, and no longer are, go into Unseen.
func (c Change) Merge(later Change) Change {
	if later.Resync {
		return c
	}
	m := later
	m.Old = c.Old
	m.Reset = c.Reset || later.Reset
	m.Unseen = endedBetween(c.Unseen, c.latest(), later.Unseen, m.latest())
	if m.Unseen != nil && m.Old != nil {
		m.Unseen = m.Unseen.Without(m.Old.UID())
	}
	// An add stays part of the first list while it waits, unless the object went in between.
	m.Initial = later.Initial || c.Initial && (c.New != nil || later.New == nil)
	return m
}

// endedBetween returns the incarnations that a change does not show: earlier ones, that of the state
// between them and later ones, without that of the state after all of them. States may be nil.
func endedBetween(earlier *object.Incarnations, between *Entry, later *object.Incarnations, after *Entry) *object.Incarnations {
	if between != nil && after != nil && !between.SameUID(after) {
		earlier = earlier.Then(between.UID())
	}
	all := earlier.Join(later)
	if all != nil && after != nil {
		all = all.Without(after.UID()) // a server brought it back
	}
	return all
}

// Changes are the result of a Commit. A list of any length costs a few bytes for each. Entries are
// made as they are yielded, from the states before and after the Commit, which Changes holds.
type Changes struct {
	rejections []Change
	pending    []pendingChange
	allNew     bool // every object of the new state is new; pending lists others
	initial    bool
	was, is    *Snapshot
}

// Len is the number of changes.
func (c Changes) Len() int {
	n := len(c.rejections)
	if c.allNew {
		n += c.is.Len()
	}
	for _, note := range c.pending {
		if !c.allNew || note.flags&changeDeleted != 0 {
			n++
		}
	}
	return n
}

// All yields the changes, in order. Each call makes the entries anew.
func (c Changes) All() iter.Seq[Change] {
	return func(yield func(Change) bool) {
		for _, ch := range c.rejections {
			if !yield(ch) {
				return
			}
		}
		for _, n := range c.pending {
			if c.allNew && n.flags&changeDeleted == 0 {
				continue // yielded below
			}
			if !yield(c.change(n)) {
				return
			}
		}
		if !c.allNew {
			return
		}
		for slot := range c.is.keys.All() {
			if !yield(c.change(pendingChange{slot: slot})) {
				return
			}
		}
	}
}

// change returns the Change of a pending change.
func (c Changes) change(n pendingChange) Change {
	ch := Change{
		Unseen: n.passed, Initial: c.initial, Missed: n.flags&changeMissed != 0, Reset: n.flags&changeReset != 0,
	}
	last := n.last
	switch {
	case n.flags&changeDeleted != 0:
	default:
		if last = n.newest; last == nil || c.is.rejected.Get(n.slot) != nil {
			last = c.is.entry(n.slot, nil)
		}
		ch.New = last
	}
	if !n.unseen {
		var key *object.Key // reuse the strings of the newer entry's key
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
