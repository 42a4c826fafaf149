package operatortest

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flyball-io/flyball/object"
)

// maxSaid is how many warnings and errors of an operator are kept.
const maxSaid = 1000

// said keeps the warnings and errors that an operator logs, beside its own log.
type said struct {
	mu    sync.Mutex
	lines []line
}

// line is a line of the log.
type line struct {
	text    string
	object  string // "namespace/name"; empty: of none
	attempt int64
	again   time.Time // when the reconcile is tried again
}

// of returns a logger that writes to l, or to slog.Default if that is nil, and is kept here.
func (s *said) of(l *slog.Logger) *slog.Logger {
	if l == nil {
		l = slog.Default()
	}
	return slog.New(&saying{s, l.Handler(), line{}})
}

// maxAbout is how many lines a report has.
const maxAbout = 5

// about returns the last lines about an object, or else those about none.
func (s *said) about(key object.Key) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range []string{key.String(), ""} {
		var found []string
		for _, l := range slices.Backward(s.lines) {
			if l.object == name && len(found) < maxAbout {
				found = append(found, l.text)
			}
		}
		if len(found) > 0 {
			slices.Reverse(found)
			return found
		}
	}
	return nil
}

// futile is the number of objects whose reconciles have failed at least persistent times in a row, and will be tried
// again.
func (s *said) futile(now time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, n := map[string]bool{}, 0
	for _, l := range slices.Backward(s.lines) {
		if l.object != "" && !last[l.object] {
			last[l.object] = true
			if l.attempt >= persistent && now.Before(l.again) {
				n++
			}
		}
	}
	return n
}

// saying is a handler whose warnings and errors are kept.
type saying struct {
	*said
	slog.Handler
	line // its attributes
}

// Enabled reports true for what is kept.
func (h *saying) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || h.Handler.Enabled(ctx, level)
}

// Handle keeps a record, and passes it on.
func (h *saying) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		l := h.line
		l.again = r.Time
		r.Attrs(func(a slog.Attr) bool {
			l.take(a)
			return true
		})
		l.text = r.Level.String() + " " + r.Message + l.text
		h.mu.Lock()
		if h.lines = append(h.lines, l); len(h.lines) > maxSaid {
			h.lines = slices.Delete(h.lines, 0, maxSaid/2)
		}
		h.mu.Unlock()
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// take adds an attribute. Stacks are left out.
func (l *line) take(a slog.Attr) {
	switch a.Key {
	case "object":
		l.object = a.Value.String()
	case "attempt":
		if a.Value.Kind() == slog.KindInt64 {
			l.attempt = a.Value.Int64()
		}
	case "retry_in":
		if a.Value.Kind() == slog.KindDuration {
			l.again = l.again.Add(a.Value.Duration())
		}
	case "stack":
		return
	}
	l.text += fmt.Sprintf(" %s=%s", a.Key, strings.TrimSpace(a.Value.String()))
}

// WithAttrs implements slog.Handler.
func (h *saying) WithAttrs(attrs []slog.Attr) slog.Handler {
	l := h.line
	for _, a := range attrs {
		l.take(a)
	}
	return &saying{h.said, h.Handler.WithAttrs(attrs), l}
}

// WithGroup implements slog.Handler.
func (h *saying) WithGroup(name string) slog.Handler {
	return &saying{h.said, h.Handler.WithGroup(name), h.line}
}
