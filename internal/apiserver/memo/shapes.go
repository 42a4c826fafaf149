package memo

import (
	"crypto/sha256"
	"sync"
)

// shapes remembers, for the texts of objects, a hash that objects share that differ only in stamps. The
// texts never change, so the address of its first byte identifies a text. It is safe for concurrent use.
type shapes struct {
	mu    sync.Mutex
	known map[*byte]shaped
	bytes int // of the texts, which are held
}

type shaped struct {
	length int
	sum    [sha256.Size]byte
}

// maxShapes is the most bytes of texts whose shapes are known. All are forgotten then.
const maxShapes = 4 << 20

func (s *shapes) of(text []byte) [sha256.Size]byte {
	first := &text[0]
	s.mu.Lock()
	known, ok := s.known[first]
	s.mu.Unlock()
	if ok && known.length == len(text) {
		return known.sum
	}
	stamps, _ := stampsOf(text, observed) // what is no stamp stays as it is
	sum := sha256.Sum256(appendMasked(nil, text, stamps))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || s.bytes >= maxShapes {
		s.known, s.bytes = map[*byte]shaped{}, 0
	}
	if _, ok := s.known[first]; !ok {
		s.bytes += len(text)
	}
	s.known[first] = shaped{len(text), sum}
	return sum
}
