package store

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/flyball-io/flyball/object"
)

// slotTable is a hash table from keys to slots, and only a hint: a lookup verifies the key it finds.
// A key that it lacks is found in the tree, and added. All states of a store, its readers and its
// writer share it. It takes four to ten bytes an object.
//
// Each bucket has sixteen entries: an 8-bit tag of the hash and a 24-bit slot number plus one.
// Deletion is lazy.
type slotTable struct {
	seed    maphash.Seed
	buckets atomic.Pointer[[]bucket]
}

type bucket [bucketSize]atomic.Uint32

const (
	bucketSize = 16 // a slot that does not fit is found in the tree only
	slotBits   = 24 // a slot that does not fit is left to the tree
	minBuckets = 4
	bucketLoad = 13 // target of entries a bucket
)

func newSlotTable() *slotTable { return &slotTable{seed: maphash.MakeSeed()} }

func (g *slotTable) hash(key []byte) uint64 { return maphash.Bytes(g.seed, key) }

// find returns the first candidate slot that satisfies is.
func (g *slotTable) find(hash uint64, is func(slot uint32) bool) (slot uint32, ok bool) {
	buckets := g.buckets.Load()
	if buckets == nil {
		return 0, false
	}
	tag := uint32(hash >> 56)
	for at := range uint64(2) { // the bucket of the hash, and if that is full, its neighbour
		l := &(*buckets)[(hash^at)&uint64(len(*buckets)-1)]
		for i := range l {
			entry := l[i].Load()
			if entry == 0 {
				return 0, false
			}
			if slot = entry&(1<<slotBits-1) - 1; entry>>slotBits == tag && is(slot) {
				return slot, true
			}
		}
	}
	return 0, false
}

// put adds the slot of a key. n is the number of keys.
func (g *slotTable) put(hash uint64, slot uint32, n int) {
	if slot+1 >= 1<<slotBits {
		return
	}
	buckets := g.buckets.Load()
	if buckets == nil || len(*buckets) < bucketsFor(n) {
		grown := make([]bucket, bucketsFor(n))
		buckets = &grown
		g.buckets.Store(buckets) // the tree finds the former entries once more
	}
	entry := uint32(hash>>56)<<slotBits | (slot + 1)
	for at := range uint64(2) {
		l := &(*buckets)[(hash^at)&uint64(len(*buckets)-1)]
		for i := range l {
			if l[i].Load() == 0 {
				l[i].Store(entry)
				return
			}
		}
	}
	(*buckets)[hash&uint64(len(*buckets)-1)][hash>>32%bucketSize].Store(entry) // replace an entry
}

// fillHints adds all keys of a state, if the table is too small for them. After a list none of them has
// been looked up yet.
func (s *state) fillHints() {
	g := s.hints
	if buckets := g.buckets.Load(); buckets != nil && len(*buckets) >= bucketsFor(s.keys.Len()) {
		return
	}
	for slot := range s.keys.All() {
		s.record(slot, func(_, _ uint32, r record) { g.put(g.hash(r.key()), slot, s.keys.Len()) })
	}
}

// fit drops the table if it has room for many more than n keys.
func (g *slotTable) fit(n int) {
	if buckets := g.buckets.Load(); buckets != nil && len(*buckets) > 4*bucketsFor(n) {
		g.buckets.Store(nil)
	}
}

// bucketsFor is the number of buckets for n keys: a power of two.
func bucketsFor(n int) int {
	size := minBuckets
	for size*bucketLoad < n {
		size *= 2
	}
	return size
}

// find returns the slot of a key.
func (s *state) find(key object.Key) (slot uint32, ok bool) {
	var room [128]byte
	k := appendKey(room[:0], key)
	hash := s.hints.hash(k)
	slot, ok = s.hints.find(hash, func(slot uint32) bool {
		return s.records.Get(slot) != 0 && s.compare(slot, k) == 0
	})
	if ok {
		return slot, true
	}
	if slot, ok = s.keys.Get(s.probe(k)); ok {
		s.hints.put(hash, slot, s.keys.Len())
	}
	return slot, ok
}
