package informer

import "sync"

// spare keeps some memory of objects that were packed, for those that come next.
type spare struct {
	mu    sync.Mutex
	all   [][]byte
	bytes int // of all
}

// spareBytes is how much is kept at most: enough for the objects of a list that are under way.
const spareBytes = 512 << 10

// take is memory that nobody has, or nil.
func (s *spare) take() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) == 0 {
		return nil
	}
	b := s.all[len(s.all)-1]
	s.all = s.all[:len(s.all)-1]
	s.bytes -= cap(b)
	return b
}

// drop forgets all.
func (s *spare) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all, s.bytes = nil, 0
}

func (s *spare) give(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes+cap(b) <= spareBytes {
		s.all = append(s.all, b)
		s.bytes += cap(b)
	}
}
