package workqueue

// number names an entry: what the queue knows of one key that is delayed, ready or in flight. All
// that refers to an entry is its number; numbers are small and given again. Zero is none.
type number = uint32

// pageSize is how many entries are allocated at a time.
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
// garbage collector does not look at it, and nodes of neighbours share a line of the CPU's cache.
type node struct {
	links    links  // in a list of ready ones, of those in flight, or of free ones
	stamp    int64  // ready since, or in flight since, in nanoseconds since the epoch
	hash     uint32 // of the key
	level    uint32 // of a ready entry that is not in flight
	age      uint32 // where that stands in ready.ages
	place    place
	inFlight bool
	known    bool // it is in use
}

// isAge reports whether the entry is ready, not in flight, and stands at i in ready.ages.
func (e *node) isAge(i int) bool { return int(e.age) == i && e.place == isReady && !e.inFlight }

// nodes are the nodes of all entries, in pages: growing copies none.
type nodes []*[pageSize]node

func (s nodes) at(n number) *node { return &s[n/pageSize][n%pageSize] }

// cell is the other part of an entry: what the caller gave.
type cell[K comparable, V any] struct {
	key      K
	value    V // pending
	priority int
	retryAt  int64 // when the last backoff ends; zero for none
}

type cells[K comparable, V any] []*[pageSize]cell[K, V]

func (s cells[K, V]) at(n number) *cell[K, V] { return &s[n/pageSize][n%pageSize] }
