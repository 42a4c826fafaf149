package store

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/flyball-io/flyball/object"
)

// guesses is a hash table from keys to slots, and only a hint: a lookup verifies the key it finds.
// A key that it lacks is found in the tree, and added. All states of a store, its readers and its
// writer share it. It takes four to ten bytes an object.
//
// Each bucket has sixteen entries: an 8-bit tag of the hash and a 24-bit slot number plus one.
// Deletion is lazy.
type guesses struct {
	seed  maphash.Seed
	lines atomic.Pointer[[]line]
}

type line [lineSize]atomic.Uint32

const (
	lineSize = 16 // a slot that does not fit is found in the tree only
	slotBits = 24 // a slot that does not fit is left to the tree
	minLines = 4
	fullLine = 13 // target of entries a bucket
)

func newGuesses() *guesses { return &guesses{seed: maphash.MakeSeed()} }

func (g *guesses) hash(key []byte) uint64 { return maphash.Bytes(g.seed, key) }

// find returns the first candidate slot that satisfies is.
func (g *guesses) find(hash uint64, is func(slot uint32) bool) (slot uint32, ok bool) {
	lines := g.lines.Load()
	if lines == nil {
		return 0, false
	}
	mark := uint32(hash >> 56)
	for at := range uint64(2) { // the bucket of the hash, and if that is full, its neighbour
		l := &(*lines)[(hash^at)&uint64(len(*lines)-1)]
		for i := range l {
			guess := l[i].Load()
			if guess == 0 {
				return 0, false
			}
			if slot = guess&(1<<slotBits-1) - 1; guess>>slotBits == mark && is(slot) {
				return slot, true
			}
		}
	}
	return 0, false
}

// put adds the slot of a key. n is the number of keys.
func (g *guesses) put(hash uint64, slot uint32, n int) {
	if slot+1 >= 1<<slotBits {
		return
	}
	lines := g.lines.Load()
	if lines == nil || len(*lines) < linesFor(n) {
		grown := make([]line, linesFor(n))
		lines = &grown
		g.lines.Store(lines) // the tree finds the former entries once more
	}
	guess := uint32(hash>>56)<<slotBits | (slot + 1)
	for at := range uint64(2) {
		l := &(*lines)[(hash^at)&uint64(len(*lines)-1)]
		for i := range l {
			if l[i].Load() == 0 {
				l[i].Store(guess)
				return
			}
		}
	}
	(*lines)[hash&uint64(len(*lines)-1)][hash>>32%lineSize].Store(guess) // replace an entry
}

// learn adds all keys of a state, if the table is too small for them. After a list none of them has
// been looked up yet.
func (s *state) learn() {
	g := s.guesses
	if lines := g.lines.Load(); lines != nil && len(*lines) >= linesFor(s.keys.Len()) {
		return
	}
	for slot := range s.keys.All() {
		s.record(slot, func(_, _ uint32, r record) { g.put(g.hash(r.key()), slot, s.keys.Len()) })
	}
}

// fit drops the table if it has room for many more than n keys.
func (g *guesses) fit(n int) {
	if lines := g.lines.Load(); lines != nil && len(*lines) > 4*linesFor(n) {
		g.lines.Store(nil)
	}
}

// linesFor is the number of buckets for n keys: a power of two.
func linesFor(n int) int {
	lines := minLines
	for lines*fullLine < n {
		lines *= 2
	}
	return lines
}

// find returns the slot of a key.
func (s *state) find(key object.Key) (slot uint32, ok bool) {
	var room [128]byte
	k := appendKey(room[:0], key)
	hash := s.guesses.hash(k)
	slot, ok = s.guesses.find(hash, func(slot uint32) bool {
		return s.records.Get(slot) != 0 && s.compare(slot, k) == 0
	})
	if ok {
		return slot, true
	}
	if slot, ok = s.keys.Get(s.at(k)); ok {
		s.guesses.put(hash, slot, s.keys.Len())
	}
	return slot, ok
}
