package workqueue

import (
	"container/heap"
	"maps"
	"slices"
)

// place is the state of a key's pending add. It is independent of inFlight: a key in flight may
// have a pending add as well.
type place uint8

const (
	nowhere   place = iota // no pending add: the key is in flight only
	isDelayed              // in core.delayed
	isReady                // in core.ready; while in flight, it joins ready on Done
)

// entry is a key that is delayed, ready or in flight.
type entry[K comparable, V any] struct {
	value    V // of the pending add
	key      K
	priority int    // of the pending add
	due      int64  // when the pending add is due, or was
	seq      uint64 // of a delayed entry: the tie-break of equal due times
	stamp    int64  // ready since, or in flight since
	backoff  int64  // end of the last backoff, or zero
	index    int32  // in core.delayed
	place    place
	inFlight bool
	rerun    bool // in core.reruns
	links    [3]links[K, V]
}

// links are the neighbours of an entry in a list.
type links[K comparable, V any] struct{ prev, next *entry[K, V] }

// The links that a list uses. An entry is in one list of each at most.
const (
	byTurn  = iota // the ready items of a priority, or what is in flight
	byAge          // all ready items
	byRerun        // what was added while in flight
)

// list is a doubly linked list through the entries.
type list[K comparable, V any] struct {
	head, tail *entry[K, V]
	n          int
}

func (l *list[K, V]) append(e *entry[K, V], by int) {
	e.links[by] = links[K, V]{prev: l.tail}
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.links[by].next = e
	}
	l.tail = e
	l.n++
}

func (l *list[K, V]) remove(e *entry[K, V], by int) {
	at := e.links[by]
	if at.prev == nil {
		l.head = at.next
	} else {
		at.prev.links[by].next = at.next
	}
	if at.next == nil {
		l.tail = at.prev
	} else {
		at.next.links[by].prev = at.prev
	}
	e.links[by] = links[K, V]{}
	l.n--
}

// delayed is a heap of entries by due time. Equal times come in order of seq. Its methods are those
// of heap.Interface.
type delayed[K comparable, V any] []*entry[K, V]

func (d delayed[K, V]) Len() int { return len(d) }

func (d delayed[K, V]) Less(i, j int) bool {
	return d[i].due < d[j].due || d[i].due == d[j].due && d[i].seq < d[j].seq
}

func (d delayed[K, V]) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].index, d[j].index = int32(i), int32(j)
}

func (d *delayed[K, V]) Push(x any) {
	e := x.(*entry[K, V])
	e.index = int32(len(*d))
	*d = append(*d, e)
}

func (d *delayed[K, V]) Pop() any {
	last := len(*d) - 1
	e := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	return e
}

func (d *delayed[K, V]) remove(e *entry[K, V]) { heap.Remove(d, int(e.index)) }

// defaultKeep is the number of keys whose memory a queue does not return.
const defaultKeep = 1024

// entries holds all keys of a core.
type entries[K comparable, V any] struct {
	entries map[K]*entry[K, V]
	free    []*entry[K, V] // at most keep
	keep    int            // defaultKeep, but in tests
	peak    int            // maximum of len(entries) since the map was made
}

// insert makes an entry for a key that has none. The entry has no pending add.
func (x *entries[K, V]) insert(key K) *entry[K, V] {
	var e *entry[K, V]
	if last := len(x.free) - 1; last >= 0 {
		e, x.free = x.free[last], x.free[:last]
	} else {
		e = new(entry[K, V])
	}
	e.key = key
	x.entries[key] = e
	x.peak = max(x.peak, len(x.entries))
	return e
}

// release removes e.
func (x *entries[K, V]) release(e *entry[K, V]) {
	delete(x.entries, e.key)
	if *e = (entry[K, V]{}); len(x.free) < x.keep {
		x.free = append(x.free, e)
	}
}

// shrink makes the map and the heap anew once they hold an eighth of what they held: neither returns memory by
// itself.
func (c *core[K, V]) shrink() {
	if n := len(c.entries.entries); c.peak > c.keep && n < c.peak/8 {
		small := make(map[K]*entry[K, V], n)
		maps.Copy(small, c.entries.entries)
		c.entries.entries, c.peak = small, n
		c.delayed = slices.Clone(c.delayed)
	}
}
