package serve

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// throttledLog logs one kind of message at most once in an interval, with the number of suppressed
// ones.
type throttledLog struct {
	interval time.Duration

	mu         sync.Mutex
	next       time.Time
	suppressed int
}

// log writes the message, or counts it as suppressed.
func (q *throttledLog) log(l *slog.Logger, level slog.Level, msg string, attrs func() []any) {
	now := time.Now()
	q.mu.Lock()
	if now.Before(q.next) {
		q.suppressed++
		q.mu.Unlock()
		return
	}
	suppressed := q.suppressed
	q.next, q.suppressed = now.Add(q.interval), 0
	q.mu.Unlock()
	args := attrs()
	if suppressed > 0 {
		args = append(args, "more", suppressed)
	}
	l.Log(context.Background(), level, msg, args...)
}

func (s *Server) logPanic(r *http.Request, v any) {
	s.panicLog.log(s.o.Logger, slog.LevelError, "handler panicked", func() []any {
		return []any{"method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(v), "stack", string(debug.Stack())}
	})
}

// errorLog receives the messages of net/http. Any client can cause most of them, for instance by
// failed handshakes.
type errorLog struct{ s *Server }

func (e errorLog) Write(line []byte) (int, error) {
	e.s.netLog.log(e.s.o.Logger, slog.LevelDebug, "connection failed", func() []any {
		return []any{"err", strings.TrimSpace(string(line))}
	})
	return len(line), nil
}
