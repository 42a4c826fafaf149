package logguard_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/run"
)

// untimed logs lines without time and level.
func untimed(to *strings.Builder) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// A line is written when a token is there, exactly when an interval is over, and says how many were suppressed.
func TestThrottle(t *testing.T) {
	for _, tc := range []struct {
		t               *logguard.Throttle
		interval, burst int // seconds
	}{
		{&logguard.Throttle{}, 60, 5},
		{&logguard.Throttle{Interval: 10 * time.Second, Burst: 1}, 10, 1},
		{&logguard.Throttle{Interval: 7 * time.Second, Burst: 3}, 7, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			var got, want strings.Builder
			log := untimed(&got)
			tokens, suppressed := tc.burst, 0
			for second := range 5 * tc.interval {
				tc.t.Next(log).Info("line", "second", second)
				if second > 0 && second%tc.interval == 0 {
					tokens++
				}
				switch {
				case tokens == 0:
					suppressed++
				case suppressed == 0:
					tokens--
					fmt.Fprintf(&want, "msg=line second=%d\n", second)
				default:
					fmt.Fprintf(&want, "msg=line suppressed=%d second=%d\n", suppressed, second)
					tokens, suppressed = tokens-1, 0
				}
				time.Sleep(time.Second)
			}
			if got.String() != want.String() {
				t.Errorf("one in %d s, %d at once: got %s, want %s", tc.interval, tc.burst, got.String(), want.String())
			}
		})
	}
}

// A line about a panic has its stack, one about another error has none.
func TestErrAttrs(t *testing.T) {
	var got strings.Builder
	for _, fails := range []func() error{func() error { return run.ErrGoexit }, func() error { panic("x") }} {
		untimed(&got).Error("failed", logguard.ErrAttrs(run.Safely("it", fails), "part", 1)...)
	}
	lines := strings.Split(got.String(), "\n")
	if len(lines) != 3 || strings.Contains(lines[0], "stack=") || !strings.HasPrefix(lines[1], `msg=failed part=1 err="it: panic: x" stack="goroutine `) {
		t.Errorf("got %s", got.String())
	}
}
