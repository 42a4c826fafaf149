package decode

import (
	"hash/maphash"
	"math"
	"sync"
	"unsafe"
)

const (
	// piece is the size of the memory that short strings share: what one of them keeps alive.
	piece = 192
	// shortString is the length above which a string has memory of its own, and sharedString that up to which objects
	// may share it.
	shortString, sharedString = 64, 128
)

// SmallDocument is the size in bytes up to which a value keeps no part of an owned document, so that the document may be
// reused. Strings that are parts of a larger one have 2 KiB or more.
const SmallDocument = 16 << 10

// minCutLength returns the least length of strings that are cut from a document of n bytes. What a string keeps
// alive is at most a multiple of its length.
func minCutLength(n int, owned bool) int {
	if !owned || n <= SmallDocument {
		return math.MaxInt
	}
	return n / 8
}

// Strings makes copies of short texts. A copy that is kept keeps 192 bytes alive, whatever it was copied from. The zero
// Strings is ready for use.
type Strings struct{ piece []byte }

// Keep returns a copy of b. Others share its memory, but no byte of it.
func (s *Strings) Keep(b []byte) string {
	if len(b) > shortString || len(b) == 0 {
		return string(b)
	}
	if cap(s.piece)-len(s.piece) < len(b) {
		s.piece = make([]byte, 0, piece)
	}
	n := len(s.piece)
	s.piece = append(s.piece, b...)
	return unsafe.String(&s.piece[n], len(b))
}

// arena makes the strings of one object.
type arena struct {
	Strings
	cut   int // strings of this length or more are parts of the document
	texts *texts
}

func (a *arena) begin(n int, owned bool) {
	a.cut = minCutLength(n, owned)
	a.texts = textPool.Get().(*texts)
}

func (a *arena) end() {
	textPool.Put(a.texts)
	*a = arena{}
}

// keep makes a string of a part of the document.
func (a *arena) keep(b []byte) string {
	switch {
	case len(b) >= a.cut:
		return unsafe.String(&b[0], len(b))
	case len(b) > sharedString || len(b) == 0:
		return string(b)
	}
	h := maphash.Bytes(textSeed, b)
	text := &a.texts[h%uint64(len(a.texts))]
	switch {
	case text.last == string(b):
		return text.last
	case text.seen != uint32(h>>32):
		text.seen = uint32(h >> 32)
		return a.Keep(b)
	}
	text.last = string(b)
	return text.last
}

// texts is a hash table of short strings that came at least twice: most strings of an object are in others, too, and
// objects share them. Pooled, there is about one for each processor. A new string replaces the old one of its slot.
type texts [1 << 10]struct {
	last string
	seen uint32 // the hash of the last string that was not last
}

var (
	textPool = sync.Pool{New: func() any { return new(texts) }}
	textSeed = maphash.MakeSeed()
)
