package store

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/flyball-io/flyball/object"
)

// guesses says in which slot a key was last found: a hash of it leads to a few slots, which are then
// looked at. What it does not know, or not any more, is found by the tree, and noted. It is shared by
// all states of a store, its readers and its writer, and takes four to ten bytes for each object.
//
// It is lines of sixteen guesses. The upper byte of one is a mark, to tell keys of one line apart,
// the rest is the slot plus one.
type guesses struct {
	seed  maphash.Seed
	lines atomic.Pointer[[]line]
}

type line [lineSize]atomic.Uint32

const (
	lineSize = 16 // a cache line
	slotBits = 24 // a slot that does not fit is left to the tree
	minLines = 4
	fullLine = 13 // guesses that are aimed at, at most
)

func newGuesses() *guesses { return &guesses{seed: maphash.MakeSeed()} }

func (g *guesses) hash(key []byte) uint64 { return maphash.Bytes(g.seed, key) }

// find is the first slot guessed that it is.
func (g *guesses) find(hash uint64, is func(slot uint32) bool) (slot uint32, ok bool) {
	lines := g.lines.Load()
	if lines == nil {
		return 0, false
	}
	mark := uint32(hash >> 56)
	for at := range uint64(2) { // in its line, and if that is full, in the one beside it
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

// put notes the slot of a key that was not found. n is how many keys there are.
func (g *guesses) put(hash uint64, slot uint32, n int) {
	if slot+1 >= 1<<slotBits {
		return
	}
	lines := g.lines.Load()
	if lines == nil || len(*lines) < linesFor(n) {
		grown := make([]line, linesFor(n))
		lines = &grown
		g.lines.Store(lines) // what was known is found once more by the tree
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
	(*lines)[hash&uint64(len(*lines)-1)][hash>>32%lineSize].Store(guess) // instead of another
}

// learn notes all keys of a state, if there is not room for them yet: of a list, nobody has looked for
// any of them.
func (s *state) learn() {
	g := s.guesses
	if lines := g.lines.Load(); lines != nil && len(*lines) >= linesFor(s.keys.Len()) {
		return
	}
	for slot := range s.keys.All() {
		s.record(slot, func(_, _ uint32, r record) { g.put(g.hash(r.key()), slot, s.keys.Len()) })
	}
}

// fit forgets all if there is room for many more than n keys.
func (g *guesses) fit(n int) {
	if lines := g.lines.Load(); lines != nil && len(*lines) > 4*linesFor(n) {
		g.lines.Store(nil)
	}
}

// linesFor is how many lines n keys want: a power of two.
func linesFor(n int) int {
	lines := minLines
	for lines*fullLine < n {
		lines *= 2
	}
	return lines
}

// find is the slot of a key.
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
