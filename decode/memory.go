package decode

import (
	"math"
	"unsafe"
)

// wholeBuffer is the size up to which a string may keep the whole buffer of its object alive.
const wholeBuffer = 16 << 10

// shortest is the length from which on strings are cut from a buffer of n bytes: what one string
// keeps alive is bounded by wholeBuffer, or by its own length.
func shortest(n int, owned bool) int {
	switch {
	case !owned:
		return math.MaxInt
	case n <= wholeBuffer:
		return 0
	}
	return n / 8
}

// arena keeps strings, in a few buffers where they cannot be cut from the document.
type arena struct {
	cut  int // what is so long stays where it is
	buf  []byte
	left int // bytes of the document that may still come
}

const (
	arenaChunk = 4 << 10
	arenaLarge = 1 << 10 // a string of this length has memory of its own
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
		a.buf = make([]byte, 0, max(len(b), min(arenaChunk, a.left/3)))
	}
	n := len(a.buf)
	a.buf = append(a.buf, b...)
	a.left -= len(b)
	return unsafe.String(&a.buf[n], len(b))
}
