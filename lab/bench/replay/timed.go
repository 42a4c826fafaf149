package replay

import (
	"context"
	"sync"
	"time"
)

// timing records when events began to be sent.
type timing struct {
	from int // the first of them

	mu   sync.Mutex
	at   []time.Time
	left int
	all  chan struct{} // closed when none is left
}

// sending records the time when the first watch begins to send an event.
func (t *timing) sending(event int) {
	if t == nil || event < t.from || event >= t.from+len(t.at) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := &t.at[event-t.from]; at.IsZero() {
		*at = time.Now()
		if t.left--; t.left == 0 {
			close(t.all)
		}
	}
}

// PlayTimed is Play at a rate, in events a second. It returns when each event began to be sent: the
// server's time until then, to wake the watch's goroutine, is not the contender's. It returns when
// the last event is being sent to a watch, or ctx ends.
func (s *Server) PlayTimed(ctx context.Context, n int, rate float64) (at []time.Time, err error) {
	if err := s.check(n, n); err != nil || n == 0 {
		return nil, err
	}
	t := &timing{at: make([]time.Time, n), left: n, all: make(chan struct{})}
	s.change(func() { t.from, s.timed = len(s.log), t })
	defer s.change(func() { s.timed = nil })
	began := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i := range n {
		timer.Reset(time.Until(began.Add(time.Duration(float64(i) / rate * float64(time.Second)))))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		s.change(s.playLocked)
	}
	select {
	case <-t.all:
		return t.at, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
