package demo

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// logger turns podscaler's log into lines: the entries of its reconciles, and all warnings.
type logger struct {
	screen *screen
	attrs  []slog.Attr
}

// Enabled implements slog.Handler.
func (h *logger) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle implements slog.Handler.
func (h *logger) Handle(_ context.Context, r slog.Record) error {
	l := Line{Kind: Log, minor: r.Level < slog.LevelWarn}
	var text strings.Builder
	text.WriteString(r.Message)
	add := func(a slog.Attr) bool {
		switch a.Key {
		case "object":
			if s := a.Value.String(); l.Object == "" {
				l.Object = "deployment/" + s[strings.IndexByte(s, '/')+1:]
			}
		case "controller", "attempt":
		default:
			fmt.Fprintf(&text, " %s=%v", a.Key, a.Value)
		}
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	if l.Object == "" && r.Level < slog.LevelWarn {
		return nil // the manager's start and stop
	}
	l.Text = text.String()
	h.screen.show(l)
	return nil
}

// WithAttrs implements slog.Handler.
func (h *logger) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logger{h.screen, append(append([]slog.Attr(nil), h.attrs...), attrs...)}
}

// WithGroup implements slog.Handler. Groups are not used here.
func (h *logger) WithGroup(string) slog.Handler { return h }
