package workqueue

// place is where a key's pending add is. Being in flight is apart from it: a key in flight may
// have a pending add as well.
type place uint8

const (
	nowhere   place = iota // nothing pending: the key is in flight only
	isDelayed              // in the heap of delayed ones
	isReady                // in the ready ones or, while in flight, to join them on Done
)

// entry is all the queue knows of one key. Times are nanoseconds since the epoch of the Core.
//
// What changes when neighbours come and go is in front, in one line of the CPU's cache.
type entry[K comparable, V any] struct {
	links    [2]links[K, V]
	level    *level[K, V] // of a ready entry that is not in flight
	stamp    int64        // ready since, or in flight since
	priority int
	slot     int32 // in the heap of delayed ones
	place    place
	inFlight bool

	value    V // pending
	key      K
	hash     uint64 // of key
	due      int64  // while delayed
	retryAt  int64  // when the last backoff ends; zero for none
	sequence uint64
}

func (e *entry[K, V]) before(f *entry[K, V]) bool {
	return e.due < f.due || e.due == f.due && e.sequence < f.sequence
}

func (e *entry[K, V]) at() *int32 { return &e.slot }

// The two lists an entry can be in at once.
const (
	byLevel = iota // the entries of one priority
	byTime         // all that are ready, or all that are in flight
)

type links[K comparable, V any] struct{ prev, next *entry[K, V] }

// list is a doubly linked list through the entries themselves.
type list[K comparable, V any] struct {
	head, tail *entry[K, V]
	which      uint8
}

func (l *list[K, V]) append(e *entry[K, V]) {
	e.links[l.which&1] = links[K, V]{prev: l.tail}
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.links[l.which&1].next = e
	}
	l.tail = e
}

func (l *list[K, V]) remove(e *entry[K, V]) {
	at := e.links[l.which&1]
	if at.prev == nil {
		l.head = at.next
	} else {
		at.prev.links[l.which&1].next = at.next
	}
	if at.next == nil {
		l.tail = at.prev
	} else {
		at.next.links[l.which&1].prev = at.prev
	}
	e.links[l.which&1] = links[K, V]{}
}

// pool allocates entries in chunks and takes them back, emptied.
type pool[K comparable, V any] struct {
	free  *entry[K, V] // linked through links[0].next
	fresh []entry[K, V]
	size  int // entries in all chunks
	peak  int // the most in use since none was
}

// take returns an empty entry, with which used are in use.
func (p *pool[K, V]) take(used int) *entry[K, V] {
	p.peak = max(p.peak, used)
	if e := p.free; e != nil {
		p.free, e.links[0].next = e.links[0].next, nil
		return e
	}
	if len(p.fresh) == 0 {
		n := min(16+p.size, 256)
		p.fresh = make([]entry[K, V], n)
		p.size += n
	}
	e := &p.fresh[0]
	p.fresh = p.fresh[1:]
	return e
}

// give takes e back, after which used are in use. It reports whether it let go of all memory:
// when none is in use and the last busy time needed far less than there is. So one burst does
// not cost memory for ever, and bursts that come again do not allocate again.
func (p *pool[K, V]) give(e *entry[K, V], used int) bool {
	*e = entry[K, V]{}
	e.links[0].next, p.free = p.free, e
	if used > 0 {
		return false
	}
	peak := p.peak
	p.peak = 0
	if p.size <= 1024 || p.size <= 4*peak {
		return false
	}
	*p = pool[K, V]{}
	return true
}
