package workqueue

import "hash/maphash"

// index finds the entry of a key: a hash table with linear probing. A map would do, but hashes
// its key again for each of look-up, insertion and removal; here an entry keeps its hash, so a
// key is hashed once by Add and once by Done, and growing hashes nothing.
type index[K comparable, V any] struct {
	seed  maphash.Seed
	slots []slot[K, V] // a power of two of them, at most four fifths in use
	used  int
}

type slot[K comparable, V any] struct {
	hash  uint64
	entry *entry[K, V] // nil: free
}

func newIndex[K comparable, V any]() index[K, V] {
	return index[K, V]{seed: maphash.MakeSeed(), slots: make([]slot[K, V], 16)}
}

// find returns the hash of key, and its entry or nil.
func (x *index[K, V]) find(key K) (uint64, *entry[K, V]) {
	hash := maphash.Comparable(x.seed, key)
	mask := uint64(len(x.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := &x.slots[i]
		if s.entry == nil {
			return hash, nil
		}
		if s.hash == hash && s.entry.key == key {
			return hash, s.entry
		}
	}
}

// insert adds e under e.hash. Its key must not be there.
func (x *index[K, V]) insert(e *entry[K, V]) {
	if x.used++; 5*x.used > 4*len(x.slots) {
		old := x.slots
		x.slots = make([]slot[K, V], 2*len(old))
		for _, s := range old {
			if s.entry != nil {
				x.place(s)
			}
		}
	}
	x.place(slot[K, V]{e.hash, e})
}

func (x *index[K, V]) place(s slot[K, V]) {
	mask := uint64(len(x.slots) - 1)
	i := s.hash & mask
	for x.slots[i].entry != nil {
		i = (i + 1) & mask
	}
	x.slots[i] = s
}

// remove takes e out, and moves up those behind it that the gap would hide.
func (x *index[K, V]) remove(e *entry[K, V]) {
	x.used--
	mask := uint64(len(x.slots) - 1)
	gap := e.hash & mask
	for x.slots[gap].entry != e {
		gap = (gap + 1) & mask
	}
	for i := (gap + 1) & mask; x.slots[i].entry != nil; i = (i + 1) & mask {
		home := x.slots[i].hash & mask
		if (i-home)&mask >= (i-gap)&mask { // home is not between the gap and i
			x.slots[gap] = x.slots[i]
			gap = i
		}
	}
	x.slots[gap] = slot[K, V]{}
}
