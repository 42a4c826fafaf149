package serve

import (
	"log/slog"
	"strings"
	"sync"
	"time"
)

// throttledLog logs one kind of message at most once in an interval, with the number of suppressed
// ones.
type throttledLog struct {
	interval time.Duration

	mu         sync.Mutex
	until      time.Time // the end of the interval
	suppressed int
}

// next returns the logger for a message, with the number of suppressed ones, or nil to suppress it.
func (q *throttledLog) next(l *slog.Logger) *slog.Logger {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if now.Before(q.until) {
		q.suppressed++
		return nil
	}
	if q.suppressed > 0 {
		l = l.With("more", q.suppressed)
	}
	q.until, q.suppressed = now.Add(q.interval), 0
	return l
}

// errorLog receives the messages of net/http. Any client can cause most of them, for instance by
// failed handshakes.
type errorLog struct{ s *Server }

func (e errorLog) Write(line []byte) (int, error) {
	if l := e.s.netLog.next(e.s.o.Logger); l != nil {
		l.Debug("connection failed", "err", strings.TrimSpace(string(line)))
	}
	return len(line), nil
}
