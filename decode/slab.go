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
	used  uint32 // values of this object
}

// end forgets the object, and notes what the next one will need.
func (m *memory) end() {
	for _, b := range m.used {
		s := &m.slabs[b.id]
		if b.hint.Load() != s.used {
			b.hint.Store(s.used)
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
	}
	s.used += uint32(n)
	if s.left < n {
		most := int(slabBytes / max(b.size, 1))
		if n >= most {
			return s.make(b, n)
		}
		s.left = max(n, min(most, n+int(b.hint.Load())-int(s.used)))
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
