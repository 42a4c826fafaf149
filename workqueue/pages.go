package workqueue

import "slices"

// number names an entry: what the queue knows of one key that is delayed, ready or in flight. All
// that refers to an entry is its number; numbers are small and given again. Zero is none.
type number = uint32

// pageSize is how many of a kind are next to each other in memory.
const pageSize = 128

// place is where a key's pending add is. Being in flight is apart from it: a key in flight may
// have a pending add as well.
type place uint8

const (
	nowhere   place = iota // nothing pending: the key is in flight only
	isDelayed              // in the heap of delayed ones
	isReady                // in the ready ones or, while in flight, to join them on Done
)

// node is the part of an entry that the core's lists are made of. It holds no pointer, so the
// garbage collector does not look at it, and two share a line of the CPU's cache.
type node struct {
	links links // in a list of ready ones or of those in flight
	stamp int64 // ready since, or in flight since, in nanoseconds since the epoch

	// Of an entry that is ready and not in flight, these are its level and where it stands in
	// ready.ages. Of any other with a pending add they are its priority: see setPriority.
	level, age uint32

	hash      uint32 // of the key
	place     place
	inFlight  bool
	known     bool // it is in use
	backedOff bool // Core.backoffs has it
}

func (e *node) setPriority(p int) { e.level, e.age = uint32(uint64(p)>>32), uint32(p) }

func (e *node) priority() int { return int(uint64(e.level)<<32 | uint64(e.age)) }

// isAge reports whether the entry is ready, not in flight, and stands at i in ready.ages.
func (e *node) isAge(i int) bool { return int(e.age) == i && e.place == isReady && !e.inFlight }

// cell is the other part of an entry: what the caller gave. An empty value that came last would
// take room.
type cell[K comparable, V any] struct {
	value V // pending
	key   K
}

// pages hold one T for each number below their room. Growing copies none, but for a first page
// that is not full yet: so a queue of few keys takes little.
type pages[T any] [][]T

// firstRoom is that of the first page to begin with.
const firstRoom = 16

func (s pages[T]) at(n number) *T { return &s[n/pageSize][n%pageSize] }

// room is how many they hold.
func (s pages[T]) room() int {
	if len(s) == 1 {
		return len(s[0])
	}
	return pageSize * len(s)
}

// grow adds room, with nothing in it: some for a few, several pages for many.
func (s *pages[T]) grow() {
	switch room := s.room(); {
	case room == 0:
		*s = pages[T]{make([]T, firstRoom)}
	case room < pageSize:
		(*s)[0] = append(make([]T, 0, 2*room), (*s)[0]...)[:2*room]
	case room < 8*pageSize:
		*s = append(*s, make([]T, pageSize))
	default:
		for page := range slices.Chunk(make([]T, 8*pageSize), pageSize) {
			*s = append(*s, page)
		}
	}
}

// cut lets go of the pages behind the number last.
func (s *pages[T]) cut(last number) {
	if pages := int(last)/pageSize + 1; pages < len(*s) {
		*s = slices.Clone((*s)[:pages])
	}
}

type nodes = pages[node]
