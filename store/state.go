package store

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/flyball-io/flyball/internal/cow"
	"github.com/flyball-io/flyball/internal/heap"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/wire"
)

// state is the content of the store: objects, and every index over exactly these. A copy is a
// version of its own; see package cow.
//
// Each object has a slot for as long as it is there. What is sorted are slots, so that an update
// changes nothing but the record of one.
type state struct {
	heap      *heap.Heap
	guesses   *guesses             // of all states
	keys      cow.Tree             // slots, by key
	records   cow.Table[heap.Ref]  // of each slot
	asides    cow.Table[*Entry]    // of the slots whose object was set aside
	templates cow.Table[*template] // by the ids in records
	kinds     []*wire.Kind         // likewise
	indexes   []index
	bytes     int64
	aside     int
}

// fork returns a state of its own with the same content.
func (s *state) fork() state {
	f := *s
	f.kinds = slices.Clip(s.kinds)
	f.indexes = make([]index, len(s.indexes))
	for i, x := range s.indexes {
		x.found.shared = true
		f.indexes[i] = x
	}
	return f
}

// Who calls what follows is the writer or has a Pin.

// stored is a record with what is in front of it: which kind and which template.
func (s *state) stored(slot uint32) (kind, template uint32, r record) {
	b := s.heap.Bytes(s.records.Get(slot))
	if b[0]|b[1] < 0x80 {
		return uint32(b[0]), uint32(b[1]), record(b[2:])
	}
	k, n := binary.Uvarint(b)
	t, m := binary.Uvarint(b[n:])
	return uint32(k), uint32(t), record(b[n+m:])
}

// key are the bytes that a slot is sorted by.
func (s *state) key(slot uint32) []byte {
	_, _, r := s.stored(slot)
	return r.key()
}

// at looks for a key.
func (s *state) at(key []byte) cow.Probe {
	return func(slot uint32) int { return bytes.Compare(s.key(slot), key) }
}

// load makes the entry of a slot, which outlives all. A key is given if it is at hand.
func (s *state) load(slot uint32, key *object.Key) *Entry {
	if e := s.asides.Get(slot); e != nil {
		return e
	}
	kind, template, r := s.stored(slot)
	e := &Entry{record: bytes.Clone(r), kind: s.kinds[kind], template: s.templates.Get(template)}
	if key != nil {
		e.key = *key
	} else {
		e.key = keyString(r.key())
	}
	return e
}
