package heap

import (
	"errors"
	"sync/atomic"
)

const (
	firstRange = 16 << 20
	lastRange  = 256 << 20
	maxGiants  = 256 // records that have a mapping of their own
)

// space is where memory comes from: mapped ranges that are cut into chunks, or the Go heap.
type space struct {
	goHeap   bool
	ranges   [][]byte
	rest     []byte // of the last one
	next     int    // the size of the next
	giants   map[*byte][]byte
	reserved atomic.Int64
}

// take is memory for a chunk, or for a record that is larger; all zero. It is mapped, or of the Go
// heap where there are no mappings (any more).
func (s *space) take(need int) (mem []byte, mapped bool) {
	if need > chunkSize {
		n := pages(need)
		if !s.goHeap && len(s.giants) < maxGiants {
			if m, err := mapRange(n); err == nil {
				if s.giants == nil {
					s.giants = map[*byte][]byte{}
				}
				s.giants[&m[0]] = m
				s.reserved.Add(int64(n))
				return m, true
			}
		}
		return make([]byte, n), false
	}
	if len(s.rest) < chunkSize && !s.more() {
		return make([]byte, chunkSize), false
	}
	mem, s.rest = s.rest[:chunkSize:chunkSize], s.rest[chunkSize:]
	return mem, true
}

// more maps a range: the next, or the largest that there is room for.
func (s *space) more() bool {
	if s.goHeap {
		return false
	}
	s.next = min(max(2*s.next, firstRange), lastRange)
	for n := s.next; n >= chunkSize; n /= 4 {
		if m, err := mapRange(n); err == nil {
			s.ranges, s.rest = append(s.ranges, m), m
			s.reserved.Add(int64(n))
			return true
		}
	}
	s.goHeap = true // do not ask again for each chunk
	return false
}

// drop gives the mapping of a single record back.
func (s *space) drop(mem []byte) {
	if m, ok := s.giants[&mem[0]]; ok {
		delete(s.giants, &m[0])
		s.reserved.Add(-int64(len(m)))
		_ = unmapRange(m) // it can only fail for what is no mapping
	}
}

// close gives all mappings back.
func (s *space) close() error {
	var errs []error
	for _, m := range s.ranges {
		errs = append(errs, unmapRange(m))
	}
	for _, m := range s.giants {
		errs = append(errs, unmapRange(m))
	}
	s.ranges, s.rest, s.giants = nil, nil, nil
	s.reserved.Store(0)
	return errors.Join(errs...)
}
