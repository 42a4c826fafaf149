package decode

import (
	"math"
	"reflect"
	"sync/atomic"
	"unsafe"
)

// block is a Go type with values behind pointers or in lists. The values of one object share pieces
// of memory, sized by the last object. Values of one type share, and so do types of one layout; see
// layoutType.
type block struct {
	t, list reflect.Type
	size    uintptr
	id      int           // its index in the memory of a decoder
	layout  *block        // the type of its pieces: mostly its own
	plain   bool          // without pointers
	hint    atomic.Uint32 // bytes that the last object took
}

// slabBytes bounds the memory that values share, and so the memory that one value keeps alive.
// Values without pointers keep nothing else alive, so several objects may share a piece.
const (
	slabBytes  = 1 << 10
	plainBytes = 1 << 9
)

// blocks are the blocks that the table of a type and of its parts needs.
type blocks map[reflect.Type]*block

func (all blocks) block(t reflect.Type) *block {
	b := all[t]
	if b == nil {
		b = &block{t: t, list: reflect.SliceOf(t), size: t.Size(), id: len(all)}
		all[t] = b
		layout := layoutType(t)
		b.plain, b.layout = layout == wordType, all.block(layout)
	}
	return b
}

// slab is the rest of a piece.
type slab struct {
	maker     reflect.Value // a slice that stays empty
	next      unsafe.Pointer
	remaining uintptr // bytes left
	used      uint32  // bytes taken for this object
	seen      bool    // this object has used it
}

// memory supplies a decoder with memory for values, for one object at a time.
type memory struct {
	slabs []slab   // by the id of the layout
	used  []*block // by this object
}

// end drops all references to the object, and records its sizes as hints for the next one.
func (m *memory) end() {
	for _, k := range m.used {
		s := &m.slabs[k.id]
		if k.hint.Load() != s.used {
			k.hint.Store(s.used)
		}
		if s.used, s.seen = 0, false; !k.plain {
			s.next, s.remaining = nil, 0
		}
	}
	m.used = m.used[:0]
}

// of returns the slab for values of a type.
func (m *memory) of(k *block) *slab {
	s := &m.slabs[k.id]
	if !s.seen {
		s.seen = true
		m.used = append(m.used, k)
	}
	return s
}

// bytes returns the size of n values in a piece.
func (b *block) bytes(n int) uintptr {
	if b.plain {
		return (uintptr(n)*b.size + 7) &^ 7
	}
	return uintptr(n) * b.size
}

// take returns n contiguous zero values; n is above 0.
func (m *memory) take(b *block, n int) unsafe.Pointer {
	if b.size == 0 {
		return unsafe.Pointer(&emptyList)
	}
	k, need := b.layout, b.bytes(n)
	s := m.of(k)
	s.used += uint32(need)
	if s.remaining < need {
		if need >= slabBytes {
			return s.make(k, need)
		}
		s.remaining = max(need, s.piece(k, need))
		s.next = s.make(k, s.remaining)
	}
	p := s.next
	s.cut(need)
	return p
}

// piece returns the size of a new piece: the expected rest of the object, at least now bytes.
func (s *slab) piece(k *block, now uintptr) uintptr {
	if k.plain {
		return plainBytes
	}
	rest := max(int(k.hint.Load())-int(s.used), 0)
	n := min(slabBytes, now+uintptr(rest))
	return n - n%k.size
}

// cut takes n bytes off the front.
func (s *slab) cut(n uintptr) {
	if s.remaining -= n; s.remaining > 0 {
		s.next = unsafe.Add(s.next, n)
	} else {
		s.next = nil // a pointer past the end would keep other memory alive
	}
}

// make allocates bytes for values of one type.
func (s *slab) make(k *block, bytes uintptr) unsafe.Pointer {
	if bytes == k.size {
		return reflect.New(k.t).UnsafePointer()
	}
	if !s.maker.IsValid() {
		s.maker = reflect.New(k.list).Elem()
	}
	s.maker.Grow(int(bytes / k.size))
	p := s.maker.UnsafePointer()
	s.maker.SetZero()
	return p
}

// growing is a list of unknown length.
type growing struct {
	block *block
	data  unsafe.Pointer
	cap   int
}

// open begins a list in the rest of a piece, or with room for guess values.
func (m *memory) open(b *block, guess int) growing {
	if b.size == 0 {
		return growing{b, unsafe.Pointer(&emptyList), math.MaxInt}
	}
	s := m.of(b.layout)
	if s.remaining >= b.bytes(max(guess, 1)) {
		g := growing{b, s.next, int(s.remaining / b.size)}
		s.next, s.remaining = nil, 0
		return g
	}
	if b.bytes(guess) < slabBytes {
		guess = max(guess, int(s.piece(b.layout, 0)/b.size))
	}
	if guess == 0 { // no hint
		guess = max(min(int(slabBytes/b.size), 4), 1)
	}
	return growing{b, s.make(b.layout, b.bytes(guess)), guess}
}

// grow doubles the room.
func (m *memory) grow(g *growing) {
	b := g.block
	old := reflect.NewAt(b.list, unsafe.Pointer(&sliceHeader{g.data, g.cap, g.cap})).Elem()
	g.data, g.cap = m.slabs[b.layout.id].make(b.layout, b.bytes(2*g.cap)), 2*g.cap
	reflect.Copy(reflect.NewAt(b.list, unsafe.Pointer(&sliceHeader{g.data, g.cap, g.cap})).Elem(), old)
}

// close ends a list of n values; the memory behind them is for other values.
func (m *memory) close(g growing, n int) {
	b := g.block
	if b.size == 0 {
		return
	}
	s := &m.slabs[b.layout.id]
	took, had := b.bytes(n), b.bytes(g.cap)
	s.used += uint32(took)
	if had <= slabBytes && had-took > s.remaining {
		s.next, s.remaining = unsafe.Add(g.data, took), had-took
	}
}
