package logguard

import (
	"cmp"
	"log/slog"
	"sync"
	"time"

	"github.com/flyball-io/flyball/internal/backoff"
)

// Throttle limits the log lines about one thing: Burst lines at once, and then one in each Interval. Its zero value
// stands for five lines, and one a minute. Any goroutine may call its methods.
type Throttle struct {
	Interval time.Duration
	Burst    int

	mu      sync.Mutex
	tokens  backoff.Bucket
	skipped int
}

// Take reports whether to write a line, and how many were skipped since the last one.
func (t *Throttle) Take() (skipped int, ok bool) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tokens.Rate, t.tokens.Burst = 1/cmp.Or(t.Interval, time.Minute).Seconds(), cmp.Or(t.Burst, 5)
	if !t.tokens.TryTake(now) {
		t.skipped++
		return 0, false
	}
	skipped, t.skipped = t.skipped, 0
	return skipped, true
}

var discard = slog.New(slog.DiscardHandler)

// Next returns the logger for a line: l with the number of lines that were skipped since the last one, or
// a logger that writes nothing.
func (t *Throttle) Next(l *slog.Logger) *slog.Logger {
	skipped, ok := t.Take()
	if !ok {
		return discard
	}
	if skipped > 0 {
		l = l.With("skipped", skipped)
	}
	return l
}
