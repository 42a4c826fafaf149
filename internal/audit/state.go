package audit

import (
	"hash/maphash"
	"iter"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/object"
)

// State is one state of an object. The zero value means no object.
type State struct {
	There   bool
	UID     types.UID
	Version string // resourceVersion
	// Named says that only the key is known.
	Named bool
}

// Holding are the stored states.
type Holding interface {
	// State returns the state of an object.
	State(object.Key) State
	// All yields all objects, in any order.
	All() iter.Seq2[object.Key, State]
}

// Watch is the position of the audited watch.
type Watch struct {
	// Good says that the watch follows the server. Otherwise nothing can be compared.
	Good bool
	// Lists counts the lists that the store has taken over.
	Lists uint64
	// Version is the version of the stored content.
	Version string
	// Unordered says that its versions cannot be compared with that of a list.
	Unordered bool
	// Selected says that the watch has a selector: an object may leave the selection and return
	// without a deletion.
	Selected bool
}

// Lost is an object with a lost event.
type Lost struct {
	Key object.Key
	// Held is the stored state, Listed the state in the lists.
	Held, Listed State
}

// String returns the key of the object and the missing event.
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

// differs reports whether an event may be lost: the stored state is neither the listed one nor
// newer.
func differs(held, listed State) bool {
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

// before reports whether a is certainly older than b.
func before(a, b string) bool {
	order, ok := object.CompareVersions(a, b)
	return ok && order < 0
}

var seed = maphash.MakeSeed()

// hashes are hashes of keys, sorted once complete.
type hashes []uint64

func hash(key object.Key) uint64 { return maphash.Comparable(seed, key) }

// finding identifies a difference across audits. The listed version is not part of it: that keeps
// changing.
type finding struct {
	key  object.Key
	held State
	uid  types.UID
}

func (l *Lost) finding() uint64 {
	return maphash.Comparable(seed, finding{l.Key, l.Held, l.Listed.UID})
}
