package decode

import (
	"reflect"
	"sync/atomic"
	"unsafe"
)

// block is a Go type that objects have values of, behind pointers or in lists. The values of one
// object share pieces of memory, of as many as the last object had.
type block struct {
	t, list reflect.Type
	size    uintptr
	id      int           // its place in the memory of a decoder
	hint    atomic.Uint32 // how many the last object had
}

// slabBytes bounds what values share, and so what one that is kept keeps alive.
const slabBytes = 1 << 10

// blocks are those that a table of a type and of its parts needs.
type blocks map[reflect.Type]*block

func (all blocks) block(t reflect.Type) *block {
	b := all[t]
	if b == nil {
		b = &block{t: t, list: reflect.SliceOf(t), size: t.Size(), id: len(all)}
		all[t] = b
	}
	return b
}

// memory is where a decoder takes values from, for one object at a time.
type memory struct {
	slabs []slab   // by the id of the block
	used  []*block // those of this object
}

// slab is what is left of a piece.
type slab struct {
	maker reflect.Value // a slice that stays empty
	next  unsafe.Pointer
	left  int
	used  uint32 // values of this object, and one; 0: none were asked for
}

// end forgets the object, and notes what the next one will need.
func (m *memory) end() {
	for _, b := range m.used {
		s := &m.slabs[b.id]
		if n := s.used - 1; b.hint.Load() != n {
			b.hint.Store(n)
		}
		s.next, s.left, s.used = nil, 0, 0
	}
	m.used = m.used[:0]
}

// take returns n zero values that follow each other; n is above 0.
func (m *memory) take(b *block, n int) unsafe.Pointer {
	s := &m.slabs[b.id]
	if s.used == 0 {
		m.used = append(m.used, b)
		s.used = 1
	}
	s.used += uint32(n)
	if s.left < n {
		most := int(slabBytes / max(b.size, 1))
		if n >= most {
			return s.make(b, n)
		}
		s.left = max(n, min(most, n+1+int(b.hint.Load())-int(s.used)))
		s.next = s.make(b, s.left)
	}
	p := s.next
	if s.left -= n; s.left > 0 {
		s.next = unsafe.Add(p, uintptr(n)*b.size)
	} else {
		s.next = nil // past the end stands something else
	}
	return p
}

// make allocates n values, and nothing else.
func (s *slab) make(b *block, n int) unsafe.Pointer {
	if n == 1 {
		return reflect.New(b.t).UnsafePointer()
	}
	if !s.maker.IsValid() {
		s.maker = reflect.New(b.list).Elem()
	}
	s.maker.Grow(n)
	p := s.maker.UnsafePointer()
	s.maker.SetZero()
	return p
}

// growing is a list whose length is not known yet.
type growing struct {
	block *block
	data  unsafe.Pointer
	cap   int
}

// open begins a list: with what is left of a piece, or with room for so many.
func (m *memory) open(b *block, guess int) growing {
	s := &m.slabs[b.id]
	if s.used == 0 {
		m.used = append(m.used, b)
		s.used = 1
	}
	if s.left > 0 && s.left >= guess {
		g := growing{b, s.next, s.left}
		s.next, s.left = nil, 0
		return g
	}
	most := int(slabBytes / max(b.size, 1))
	if guess < most {
		guess = max(guess, min(most, 1+int(b.hint.Load())-int(s.used)))
	}
	if guess == 0 { // nothing is known
		guess = max(min(most, 4), 1)
	}
	return growing{b, s.make(b, guess), guess}
}

// grow makes room for more.
func (m *memory) grow(g *growing) {
	b := g.block
	old := reflect.NewAt(b.list, unsafe.Pointer(&sliceHeader{g.data, g.cap, g.cap})).Elem()
	g.data, g.cap = m.slabs[b.id].make(b, 2*g.cap), 2*g.cap
	reflect.Copy(reflect.NewAt(b.list, unsafe.Pointer(&sliceHeader{g.data, g.cap, g.cap})).Elem(), old)
}

// close ends a list of n values; what follows them is for other values.
func (m *memory) close(g growing, n int) {
	b := g.block
	s := &m.slabs[b.id]
	s.used += uint32(n)
	if n < g.cap && s.left == 0 && uintptr(g.cap)*b.size <= slabBytes {
		s.next, s.left = unsafe.Add(g.data, uintptr(n)*b.size), g.cap-n
	}
}
