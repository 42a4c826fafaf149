package review

import (
	"log/slog"
	"sync"
	"time"
)

// quietFor is how long nothing more is said after a complaint: a webhook that fails does so at
// every request.
const quietFor = time.Second

// complaints are what a person must see, not more than one in quietFor.
type complaints struct {
	mu      sync.Mutex
	until   time.Time
	skipped int
}

// log says it, together with how many were left out since the last.
func (c *complaints) log(l *slog.Logger, msg string, args ...any) {
	c.mu.Lock()
	now := time.Now()
	if now.Before(c.until) {
		c.skipped++
		c.mu.Unlock()
		return
	}
	c.until = now.Add(quietFor)
	skipped := c.skipped
	c.skipped = 0
	c.mu.Unlock()
	if skipped > 0 {
		l = l.With("skipped", skipped)
	}
	l.Error(msg, args...)
}
