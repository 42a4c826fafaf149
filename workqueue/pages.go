package workqueue

import "slices"

// number identifies an entry: one key that is delayed, ready or in flight. All references to an
// entry are numbers. Numbers are small and reused. Zero means none.
type number = uint32

// pageSize is the number of elements of a page, contiguous in memory.
const pageSize = 128

// place is the state of a key's pending add. It is independent of inFlight: a key in flight may
// have a pending add as well.
type place uint8

const (
	nowhere   place = iota // no pending add: the key is in flight only
	isDelayed              // in core.delayed
	isReady                // in core.ready; while in flight, it joins ready on Done
)

// node is the part of an entry that the core's lists need. It holds no pointer, so the garbage
// collector skips it. Two nodes fit a cache line.
type node struct {
	links links // in the list of its level, or of the items in flight
	stamp int64 // ready since, or in flight since, in nanoseconds since the epoch

	// For an entry that is ready and not in flight: its level, and its index in ready.ages. For any
	// other entry with a pending add, both hold its priority: see setPriority.
	level, age uint32

	hash      uint32 // of the key
	place     place
	inFlight  bool
	inUse     bool // in use
	backedOff bool // Core.backoffs has it
}

func (e *node) setPriority(p int) { e.level, e.age = uint32(uint64(p)>>32), uint32(p) }

func (e *node) priority() int { return int(uint64(e.level)<<32 | uint64(e.age)) }

// isAge reports whether the entry is ready, not in flight, and at index i of ready.ages.
func (e *node) isAge(i int) bool { return int(e.age) == i && e.place == isReady && !e.inFlight }

// cell is the part of an entry that the caller gave. value comes first: a zero-sized last field
// would be padded.
type cell[K comparable, V any] struct {
	value V // of the pending add
	key   K
}

// pages is a growable array of T, indexed by number. Growth copies no element, except while the
// first page is not full. So a queue of few keys takes little memory.
type pages[T any] [][]T

// firstRoom is the initial size of the first page.
const firstRoom = 16

func (s pages[T]) at(n number) *T { return &s[n/pageSize][n%pageSize] }

// room returns the number of elements.
func (s pages[T]) room() int {
	if len(s) == 1 {
		return len(s[0])
	}
	return pageSize * len(s)
}

// grow adds zero elements: it doubles the first page, then adds one page, then eight pages at a
// time.
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

type nodes = pages[node]
