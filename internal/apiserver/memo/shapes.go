package memo

import (
	"crypto/sha256"
	"strings"
	"sync"
)

// shapes remembers, for the texts of objects, a hash that objects share that differ only in uids, versions and times.
// The texts never change, so the address of its first byte identifies a text. It is safe for concurrent use.
type shapes struct {
	mu    sync.Mutex
	known map[*byte]shaped
	bytes int // of the texts, which are held
	// reads has, by the hash of a definition, whether it may have rules that read names.
	reads map[[sha256.Size]byte]bool
}

type shaped struct {
	length int
	sum    [sha256.Size]byte
}

// maxReads bounds the definitions whose reads are remembered. A full memory is emptied.
const maxReads = 1000

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
	blank := func(text string) string { return strings.Repeat("x", len(text)) }
	sum := sha256.Sum256(marked(text, blank, blank))
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

// readsNames is [readsNames] of a definition, which may be of no length.
func (s *shapes) readsNames(definition []byte) bool {
	if len(definition) == 0 {
		return true
	}
	sum := s.of(definition)
	s.mu.Lock()
	reads, known := s.reads[sum]
	s.mu.Unlock()
	if known {
		return reads
	}
	reads = readsNames(definition)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reads == nil || len(s.reads) >= maxReads {
		s.reads = map[[sha256.Size]byte]bool{}
	}
	s.reads[sum] = reads
	return reads
}
