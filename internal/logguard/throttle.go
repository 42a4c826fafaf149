package logguard

import (
	"log/slog"
	"sync"
	"time"
)

// Throttle passes one line in an interval. It is for lines that anybody can cause.
type Throttle struct {
	Interval time.Duration

	mu      sync.Mutex
	until   time.Time // the end of the interval
	skipped int
}

var discard = slog.New(slog.DiscardHandler)

// Next returns the logger for a line: l with the number of lines that were skipped since the last one, or
// a logger that writes nothing.
func (t *Throttle) Next(l *slog.Logger) *slog.Logger {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Before(t.until) {
		t.skipped++
		return discard
	}
	if t.skipped > 0 {
		l = l.With("skipped", t.skipped)
	}
	t.until, t.skipped = now.Add(t.Interval), 0
	return l
}
