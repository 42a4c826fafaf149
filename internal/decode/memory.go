package decode

import (
	"math"
	"unsafe"
)

// wholeBuffer is the largest buffer that a string may keep alive as a whole.
const wholeBuffer = 16 << 10

// minCutLength returns the least length of strings that are cut from a buffer of n bytes. It bounds the
// memory that one string keeps alive by wholeBuffer, or by a multiple of its length.
func minCutLength(n int, owned bool) int {
	switch {
	case !owned:
		return math.MaxInt
	case n <= wholeBuffer:
		return 0
	}
	return n / 8
}

// arena holds strings in a few buffers, if they cannot be cut from the document.
type arena struct {
	cut       int // longer strings are cut from the document
	buf       []byte
	remaining int // bytes of the document that may still come
}

const (
	arenaChunk = 4 << 10
	arenaLarge = 1 << 10 // strings of this length have memory of their own
)

// keep makes a string of a part of the document.
func (a *arena) keep(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) >= a.cut {
		return unsafe.String(&b[0], len(b))
	}
	if len(b) >= arenaLarge {
		return string(b)
	}
	if cap(a.buf)-len(a.buf) < len(b) {
		// About a third of a document are values.
		a.buf = make([]byte, 0, max(len(b), min(arenaChunk, a.remaining/3)))
	}
	n := len(a.buf)
	a.buf = append(a.buf, b...)
	a.remaining -= len(b)
	return unsafe.String(&a.buf[n], len(b))
}
