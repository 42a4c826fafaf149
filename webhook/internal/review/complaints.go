package review

import (
	"log/slog"
	"sync"
	"time"
)

// logInterval is the interval between two log entries: a broken webhook fails at every request.
const logInterval = time.Second

// complaints logs problems that a person must see, one in logInterval at most.
type complaints struct {
	mu      sync.Mutex
	until   time.Time
	skipped int
}

// log logs msg, with the number of messages suppressed since the last.
func (c *complaints) log(l *slog.Logger, msg string, args ...any) {
	c.mu.Lock()
	now := time.Now()
	if now.Before(c.until) {
		c.skipped++
		c.mu.Unlock()
		return
	}
	c.until = now.Add(logInterval)
	skipped := c.skipped
	c.skipped = 0
	c.mu.Unlock()
	if skipped > 0 {
		l = l.With("skipped", skipped)
	}
	l.Error(msg, args...)
}
