package logguard

import (
	"sync"
	"time"

	"github.com/flyball-io/flyball/internal/backoff"
)

// Lines limits the log lines about one thing: five at once, and then one a minute. The zero value is
// ready to use. Any goroutine may call Take.
type Lines struct {
	mu         sync.Mutex
	tokens     backoff.Bucket
	suppressed int
}

// Take reports whether to write a line, and how many were suppressed since the last one.
func (l *Lines) Take(now time.Time) (suppressed int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens.Rate, l.tokens.Burst = 1.0/60, 5
	if !l.tokens.TryTake(now) {
		l.suppressed++
		return 0, false
	}
	suppressed, l.suppressed = l.suppressed, 0
	return suppressed, true
}
