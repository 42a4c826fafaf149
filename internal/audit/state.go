package audit

import (
	"hash/maphash"
	"iter"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/object"
)

// State is one state of an object. The zero value: there is none.
type State struct {
	There   bool
	UID     types.UID
	Version string // resourceVersion
	// Named says that nothing but the key is known.
	Named bool
}

// Holding is what is held.
type Holding interface {
	// State of an object.
	State(object.Key) State
	// All objects, in any order.
	All() iter.Seq2[object.Key, State]
}

// Watch is where the watch stands that an audit looks after.
type Watch struct {
	// Good: it follows the server. There is nothing to compare otherwise.
	Good bool
	// Lists counts the lists whose content was taken over.
	Lists uint64
	// Version is how far what is held is.
	Version string
	// Unordered: its versions cannot be compared with that of a list.
	Unordered bool
	// Selected: an object may leave what is watched, and come back, without being deleted.
	Selected bool
}

// Lost is an object of which the watch did not show what became of it.
type Lost struct {
	Key object.Key
	// Held and Listed are what is held and what the lists show.
	Held, Listed State
}

// String names the object, and the event that is missing.
func (l *Lost) String() string {
	switch {
	case !l.Listed.There:
		return l.Key.String() + " (deleted)"
	case !l.Held.There:
		return l.Key.String() + " (added)"
	case l.Held.UID != l.Listed.UID:
		return l.Key.String() + " (replaced)"
	}
	return l.Key.String() + " (modified)"
}

// differ reports whether the watch may have lost something: it has not shown what a list shows, nor
// anything newer.
func differ(held, listed State) bool {
	switch {
	case held.There != listed.There:
		return true
	case !held.There, held.Named, listed.Named:
		return false
	case held.UID != listed.UID:
		return true
	case held.Version == listed.Version, listed.Version == "":
		return false
	}
	return !before(listed.Version, held.Version)
}

// before reports whether a is certainly the older one of two versions.
func before(a, b string) bool {
	order, ok := object.CompareVersions(a, b)
	return ok && order < 0
}

var seed = maphash.MakeSeed()

// hashes are those of keys, sorted once they are complete.
type hashes []uint64

func hash(key object.Key) uint64 { return maphash.Comparable(seed, key) }

// finding is what tells whether a difference was there before. Its version in the list does not: it
// goes on.
type finding struct {
	key  object.Key
	held State
	uid  types.UID
}

func (l *Lost) finding() uint64 {
	return maphash.Comparable(seed, finding{l.Key, l.Held, l.Listed.UID})
}
