// Package delta holds what has changed and has not been looked at yet: at most one slot for each
// key, so that a consumer that is slow, or stuck, costs memory by the keys there are and never by
// the events that happen.
//
//	                 FIFO: BeginReplace … EndReplace are barriers                  one Backlog for each handler
//	reflector ─Push─▶ [a Updated][b Deleted]│[a Replaced][c Replaced]│─TakeAll─▶ store ─Push─▶ [a old→new][c →new] ─Next─▶ handler
//	                  never blocks                                   applier                   never blocks
//
// The two queues merge by different rules because they are asked different questions. The FIFO
// carries what the server said, and the store finds out what that changes: it keeps the newest
// state of a key. The Backlog carries what changed, as one handler must be told: it keeps the
// state that the handler was shown last and the newest one.
//
// Core and BacklogCore are the queues themselves: no lock, no clock, no waiting. FIFO and Backlog
// put a lock around them and let one goroutine wait for another.
package delta

import (
	"errors"
	"time"

	"github.com/flyball-io/flyball/object"
)

// ErrClosed is returned by FIFO.Wait and Backlog.Next when the queue was closed and nothing
// more will come.
var ErrClosed = errors.New("delta: queue closed")

// Value is one state of one object. The zero V stands for "no state". The header is read only and
// gives the key, the uid and the resourceVersion, by which states are told apart and ordered.
type Value[V any] interface {
	comparable
	Header() *object.Header
	// SameUID reports whether two states are of one incarnation, as far as can be known. It costs
	// less than two headers.
	SameUID(V) bool
}

// Type says what happened to a key, or that a relist begins or ends.
type Type uint8

const (
	// Added is an object that appeared, or appeared and was updated since.
	Added Type = iota + 1
	// Updated is an object that was changed; also one that was deleted and made again.
	Updated
	// Deleted is an object that went; its Value is the final state.
	Deleted
	// Replaced is an item of a relist: the object stands so, whatever was known before.
	Replaced
	// Sync asks for another look at an object that did not change. It has no Value.
	Sync

	// BeginReplace says that a whole list follows: until its end, states belong to that list.
	BeginReplace
	// EndReplace says that the list was whole: what it did not hold is gone.
	EndReplace
	// AbortReplace says that the list broke off: nothing of it may be kept.
	AbortReplace
)

func (t Type) String() string {
	switch t {
	case Added:
		return "Added"
	case Updated:
		return "Updated"
	case Deleted:
		return "Deleted"
	case Replaced:
		return "Replaced"
	case Sync:
		return "Sync"
	case BeginReplace:
		return "BeginReplace"
	case EndReplace:
		return "EndReplace"
	case AbortReplace:
		return "AbortReplace"
	}
	return "unknown"
}

// Barrier reports whether t is a mark in the stream rather than a change of a key.
func (t Type) Barrier() bool { return t >= BeginReplace }

// Delta is the pending change of one key, or a barrier.
type Delta[V Value[V]] struct {
	Type Type
	// Key is the zero Key for a barrier.
	Key object.Key
	// Value is the newest state; for Deleted the final one; the zero V for Sync and barriers.
	Value V
	// Unseen are the incarnations before that of Value which came and went since the last take. The
	// first may be one that was taken before.
	Unseen *object.Incarnations
	// Came is set on a Deleted whose object also appeared since the last take: it came and went.
	Came bool
	// Reset is set on a BeginReplace if the server itself went back in time, so that versions of
	// before mean nothing any more.
	Reset bool
	// Version is the resourceVersion of the list, on EndReplace.
	Version string
	// Since is when the oldest of the changes merged into this one arrived.
	Since time.Time
}

// Change is what one handler is to be told about one key. Its fields are those of store.Change, in
// the same order, so that one converts to the other:
//
//	delta.Change[*store.Entry](c)   and   store.Change(item.Change)
//
//	Old zero, New set    the object appeared
//	Old set,  New set    it changed, or was deleted and made again under one name (two UIDs)
//	Old set,  New zero   it went; Last is its final state
//	Old zero, New zero   it came and went before the handler was shown it; Last is its final state
type Change[V Value[V]] struct {
	Key object.Key
	// Old is the state that the handler was shown last.
	Old V
	// New is the newest state.
	New V
	// Last is the final state of an object that went.
	Last V
	// Unseen are the incarnations that came and went between Old and New, or Last; nil: none.
	Unseen  *object.Incarnations
	Initial bool
	Missed  bool
	Resync  bool
	Reset   bool
}

// Stats counts what a queue holds and has done.
type Stats struct {
	// Depth is the number of slots pending now.
	Depth int
	// Oldest is how long the oldest of them has been pending; 0 when there is none.
	Oldest time.Duration
	// Pushed is the number of changes that came in.
	Pushed uint64
	// Merged is how many of them took no slot of their own, or lost it to a later list.
	Merged uint64
	// Stale is how many were older than what was pending, and ignored.
	Stale uint64
	// Dropped is how many objects that came and went were forgotten, to keep memory bounded.
	Dropped uint64
}

// older reports whether a is certainly of an older version than b.
func older(a, b *object.Header) bool {
	c, ok := object.CompareVersions(a.ResourceVersion, b.ResourceVersion)
	return ok && c < 0
}
