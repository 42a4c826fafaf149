package informer

import "sync"

// buffers is a pool of buffers for incoming objects.
type buffers struct {
	mu    sync.Mutex
	all   [][]byte
	bytes int // total capacity of all
}

// maxBuffers bounds the pool, in bytes. It is enough for the objects of a list that are not applied yet.
const maxBuffers = 512 << 10

// get returns a free buffer, or nil.
func (s *buffers) get() []byte {
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

// put adds a buffer that the caller no longer uses. A full pool drops it.
func (s *buffers) put(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes+cap(b) <= maxBuffers {
		s.all = append(s.all, b)
		s.bytes += cap(b)
	}
}

// clear frees the buffers.
func (s *buffers) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all, s.bytes = nil, 0
}
