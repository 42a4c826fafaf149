package store

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/flyball-io/flyball/internal/cow"
	"github.com/flyball-io/flyball/internal/heap"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// state is the content of the store: objects, and every index over exactly these. A copy is a
// version of its own; see package cow.
//
// Each object has one slot while it exists. Trees sort slots, so an update changes only the record
// of one slot.
type state struct {
	chunks    heap.Chunks           // the chunks that hold the records
	hints     *slotTable            // shared by all states
	keys      cow.Tree              // slots, sorted by key
	bare      int                   // keys without a namespace
	records   cow.Table[heap.Place] // by slot
	rejected  cow.Table[*Entry]     // rejected entries, by slot
	unindexed cow.Tree              // their slots, sorted by key: no index has them
	templates cow.Table[*template]  // by the template ids in records
	kinds     []*wire.Kind          // by the kind ids in records
	indexes   []index
	bytes     int64
}

// fork returns an independent state with the same content.
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

// record calls f with the record of a slot, its kind id and its template id. The record is memory
// outside the Go heap: f must not keep any part of it. All functions below read records this way.
func (s *state) record(slot uint32, f func(kind, template uint32, r record)) {
	s.chunks.Read(s.records.Get(slot), func(b []byte) {
		if b[0]|b[1] < 0x80 {
			f(uint32(b[0]), uint32(b[1]), record(b[2:]))
			return
		}
		k, n := binary.Uvarint(b)
		t, m := binary.Uvarint(b[n:])
		f(uint32(k), uint32(t), record(b[n+m:]))
	})
}

// compare compares the key of a slot with another key.
func (s *state) compare(slot uint32, key []byte) (order int) {
	s.record(slot, func(_, _ uint32, r record) { order = bytes.Compare(r.key(), key) })
	return order
}

// key appends the sort key of a slot.
func (s *state) key(dst []byte, slot uint32) []byte {
	s.record(slot, func(_, _ uint32, r record) { dst = append(dst, r.key()...) })
	return dst
}

// probe returns a probe for a key.
func (s *state) probe(key []byte) cow.Probe {
	return func(slot uint32) int { return s.compare(slot, key) }
}

// load returns a copy of the entry of a slot, valid without a time limit. key is the entry's key if
// the caller has it, or nil.
func (s *state) load(slot uint32, key *object.Key) (e *Entry) {
	if e := s.rejected.Get(slot); e != nil {
		return e
	}
	s.record(slot, func(kind, template uint32, r record) {
		e = &Entry{record: bytes.Clone(r), kind: s.kinds[kind], template: s.templates.Get(template)}
	})
	if key != nil {
		e.key = *key
	} else {
		e.key = keyString(e.record.key())
	}
	return e
}

// lend calls f with the entry of a slot that is not rejected. The entry is valid until f returns.
func (s *state) lend(slot uint32, f func(*Entry)) {
	s.record(slot, func(kind, template uint32, r record) {
		l := loans.Get().(*loan)
		l.entry = Entry{record: r, kind: s.kinds[kind], template: s.templates.Get(template), lent: l}
		f(&l.entry)
		l.end()
	})
}

// loan is a lent entry, its record once it is parsed, and memory to unpack it into.
type loan struct {
	entry   Entry
	meta    meta
	parsed  bool
	view    labelView
	scratch []byte
}

// end gives the loan back. A use of the entry afterwards fails.
func (l *loan) end() {
	l.entry, l.parsed, l.view = Entry{}, false, labelView{}
	loans.Put(l)
}

var loans = sync.Pool{New: func() any { return new(loan) }}
