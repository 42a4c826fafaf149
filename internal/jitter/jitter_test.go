package jitter

import (
	"testing"
	"testing/synctest"
	"time"
)

// spread fails unless draws are in their bounds and spread.
func spread(t *testing.T) {
	t.Helper()
	low, high := 0, 0
	for range 1000 {
		f, d := Float64(), N(time.Hour)
		if f < 0 || f >= 1 || d < 0 || d >= time.Hour {
			t.Fatalf("%v, %v", f, d)
		}
		if f < 0.5 {
			low++
		}
		if d >= 30*time.Minute {
			high++
		}
	}
	if low < 300 || low > 700 || high < 300 || high > 700 {
		t.Errorf("of 1,000 draws %d are low and %d are high", low, high)
	}
}

// Draws are spread, in a bubble too; in the bubbles of a simulation each is the middle.
func TestDraws(t *testing.T) {
	spread(t)
	synctest.Test(t, spread)
	end := Simulate()
	spread(t)
	synctest.Test(t, func(t *testing.T) {
		if f, d := Float64(), N(time.Hour); f != 0.5 || d != 30*time.Minute {
			t.Errorf("in a simulation: %v, %v", f, d)
		}
		if d := N(1); d != 0 {
			t.Errorf("of one nanosecond: %v", d)
		}
	})
	end()
	synctest.Test(t, spread)
}
