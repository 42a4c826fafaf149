package informer

import "sync"

// spare keeps some memory of objects that were packed, for those that come next.
type spare struct {
	mu  sync.Mutex
	all [][]byte
}

const (
	mostSpare  = 64
	spareBytes = 16 << 10 // that one of them has at most
)

// take is memory that nobody has, or nil.
func (s *spare) take() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) == 0 {
		return nil
	}
	b := s.all[len(s.all)-1]
	s.all = s.all[:len(s.all)-1]
	return b
}

func (s *spare) give(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) < mostSpare && cap(b) <= spareBytes {
		s.all = append(s.all, b)
	}
}
