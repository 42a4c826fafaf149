package store

import "github.com/flyball-io/flyball/object"

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
func (c Change) Replaced() bool {
	return c.Old != nil && c.New != nil && c.Old.header.UID != c.New.header.UID
}
