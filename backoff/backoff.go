// Package backoff says how long to wait: after the n-th failure in a row (Policy, Backoff), and
// for the next token of a rate (Bucket).
//
// Nothing here sleeps, locks or reads a clock. Time is an argument and randomness is injected, so
// a run can be replayed; the types are small values, copied freely, and whoever holds one guards
// it.
package backoff

import (
	"math"
	"math/rand/v2"
	"time"
)

// Policy is an exponential delay. The zero value never waits.
type Policy struct {
	// Base is the delay after the first failure, before jitter. Zero or negative: no delay, ever.
	Base time.Duration
	// Factor is what each further failure multiplies the delay by. Zero: 2. Below 1: 1, a
	// constant delay.
	Factor float64
	// Max is the longest delay, jitter included. Zero or negative: none. Below Base, it wins.
	Max time.Duration
	// Jitter is the share of the delay that is drawn at random: a delay of d becomes one between
	// d·(1-Jitter) and d, both included. Zero: the exact delay. 1 or more: full jitter, anything
	// from 0 to d.
	Jitter float64
	// ResetAfter is how long all must have gone well, counted from the end of the last delay, for
	// the next failure to count as the first. Zero or negative: only Reset does that. Read by
	// Backoff alone.
	ResetAfter time.Duration
}

// Delay is the delay after failures failures in a row; zero or fewer is no failure and no delay.
// random is drawn from [0, 1) and matters only with jitter.
func (p Policy) Delay(failures int, random float64) time.Duration {
	if failures <= 0 || p.Base <= 0 {
		return 0
	}
	most := time.Duration(math.MaxInt64)
	if p.Max > 0 {
		most = p.Max
	}
	factor := p.Factor
	if factor == 0 {
		factor = 2
	}
	d := float64(p.Base) * math.Pow(max(factor, 1), float64(failures-1))
	d = min(d, float64(most))
	if p.Jitter > 0 {
		d *= 1 - min(p.Jitter, 1)*random
	}
	if !(d < float64(most)) { // a float64 may be rounded up, and a factor may be NaN
		return most
	}
	return time.Duration(d)
}

// Backoff counts failures under a Policy. A Backoff with only its Policy set is ready to use.
type Backoff struct {
	Policy Policy
	// Rand draws from [0, 1). Nil: math/rand/v2.
	Rand func() float64

	failures int
	until    time.Time // when the last delay ends
}

// Fail records a failure at now and returns how long to wait from then.
func (b *Backoff) Fail(now time.Time) time.Duration {
	if b.failures > 0 && b.Policy.ResetAfter > 0 && now.Sub(b.until) >= b.Policy.ResetAfter {
		b.failures = 0
	}
	if b.failures < math.MaxInt {
		b.failures++
	}
	random := 0.0
	if b.Policy.Jitter > 0 {
		if b.Rand != nil {
			random = b.Rand()
		} else {
			random = rand.Float64()
		}
	}
	d := b.Policy.Delay(b.failures, random)
	b.until = now.Add(d)
	return d
}

// Failures is the number of failures in a row.
func (b *Backoff) Failures() int { return b.failures }

// Reset forgets the failures: the next one is the first.
func (b *Backoff) Reset() { b.failures, b.until = 0, time.Time{} }
