package logguard

import (
	"cmp"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/flyball-io/flyball/internal/backoff"
	"github.com/flyball-io/flyball/run"
)

// Throttle limits the log lines about one thing: Burst lines at once, and then one in each Interval. Its zero value
// stands for five lines, and one a minute. Any goroutine may call its methods.
type Throttle struct {
	Interval time.Duration
	Burst    int

	mu         sync.Mutex
	tokens     backoff.Bucket
	suppressed int
}

var discard = slog.New(slog.DiscardHandler)

// Next returns the logger for a line: l with the number of lines that were suppressed since the last one, or
// a logger that writes nothing.
func (t *Throttle) Next(l *slog.Logger) *slog.Logger {
	now := time.Now()
	t.mu.Lock()
	t.tokens.Rate, t.tokens.Burst = 1/cmp.Or(t.Interval, time.Minute).Seconds(), cmp.Or(t.Burst, 5)
	ok, suppressed := t.tokens.TryTake(now), t.suppressed
	if t.suppressed++; ok {
		t.suppressed = 0
	}
	t.mu.Unlock()
	switch {
	case !ok:
		return discard
	case suppressed > 0:
		return l.With("suppressed", suppressed)
	}
	return l
}

// ErrAttrs appends err to the attributes of a line, and the stack if err is a panic.
func ErrAttrs(err error, attrs ...any) []any {
	attrs = append(attrs, "err", err)
	if p, ok := errors.AsType[*run.PanicError](err); ok {
		return append(attrs, "stack", string(p.Stack))
	}
	return attrs
}
