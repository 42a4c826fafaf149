// Package jitter draws the random parts of waits. In a simulation it draws the middle each time, so that a run has the
// same times when it is repeated.
package jitter

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// simulations counts those that run in this process.
var simulations atomic.Int64

// Simulate makes draws in bubbles of testing/synctest the middle, until the end of the last simulation.
func Simulate() (end func()) {
	simulations.Add(1)
	return func() { simulations.Add(-1) }
}

// Simulated reports whether the caller is in a bubble, whose clock begins in the year 2000, and a simulation runs.
func Simulated() bool { return simulations.Load() > 0 && time.Now().Year() < 2020 }

// Float64 draws from [0, 1).
func Float64() float64 {
	if Simulated() {
		return 0.5
	}
	return rand.Float64()
}

// N draws from [0, d). d must be positive.
func N(d time.Duration) time.Duration {
	if Simulated() {
		return d / 2
	}
	return rand.N(d)
}
