package logguard_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/internal/logguard"
)

// A line is written when a token is there, exactly when an interval is over, and says how many were skipped.
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
			var got, want []int // the second of each line, and what it says was skipped
			tokens, skipped := tc.burst, 0
			for second := range 5 * tc.interval {
				if n, ok := tc.t.Take(); ok {
					got = append(got, second, n)
				}
				if second > 0 && second%tc.interval == 0 {
					tokens++
				}
				if skipped++; tokens > 0 {
					want, tokens, skipped = append(want, second, skipped-1), tokens-1, 0
				}
				time.Sleep(time.Second)
			}
			if !slices.Equal(got, want) {
				t.Errorf("one in %d s, %d at once: got %v, want %v", tc.interval, tc.burst, got, want)
			}
		})
	}
}
