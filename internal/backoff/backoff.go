// Package backoff computes waits: after the n-th failure in a row ([Policy], [Backoff]), and for
// the next token of a rate ([Bucket]).
//
// [Policy.Delay] maps a number of failures to a delay. [Backoff] counts the failures as well:
// [Backoff.Fail] returns the next delay, [Backoff.Reset] follows a success. [Bucket.Reserve]
// returns the wait for a token.
//
// Nothing here sleeps or locks. Time is an argument, and so is the random number of [Policy.Delay]. A
// [Backoff] with jitter draws from package jitter. The types are small values and may be copied. They
// are not safe for concurrent use: the owner guards them.
package backoff

import (
	"math"
	"time"

	"github.com/flyball-io/flyball/internal/jitter"
)

// Policy is an exponential delay. The zero value never waits.
type Policy struct {
	// Base is the delay after the first failure, before jitter. Zero or negative means no delay,
	// ever.
	Base time.Duration
	// Factor multiplies the delay with each further failure. Zero means 2. Below 1 means 1, a
	// constant delay.
	Factor float64
	// Max is the longest delay, jitter included. Zero or negative means no bound. A Max below Base
	// wins.
	Max time.Duration
	// Jitter is the random share of the delay: a delay d becomes one between d·(1-Jitter) and d,
	// both included. Zero means the exact delay. 1 or more means full jitter, from 0 to d.
	Jitter float64
	// ResetAfter is the time without failure after which the next failure counts as the first. It
	// starts at the end of the last delay. Zero or negative means that only Reset does that. Only
	// Backoff reads it.
	ResetAfter time.Duration
}

// Delay returns the delay after that many failures in a row. Zero or fewer failures mean no delay.
// random is drawn from [0, 1); only jitter uses it.
func (p Policy) Delay(failures int, random float64) time.Duration {
	if failures <= 0 || p.Base <= 0 {
		return 0
	}
	limit := time.Duration(math.MaxInt64)
	if p.Max > 0 {
		limit = p.Max
	}
	factor := p.Factor
	if factor == 0 {
		factor = 2
	}
	d := float64(p.Base) * math.Pow(max(factor, 1), float64(failures-1))
	d = min(d, float64(limit))
	if p.Jitter > 0 {
		d *= 1 - min(p.Jitter, 1)*random
	}
	if !(d < float64(limit)) { // a float64 may round up, and a factor may be NaN
		return limit
	}
	return time.Duration(d)
}

// Backoff counts failures under a Policy. A Backoff with only its Policy set is ready to use.
type Backoff struct {
	Policy Policy
	// Until is the end of the last delay; zero before the first failure. The owner may move it.
	Until time.Time

	failures int
}

// Fail records a failure at now and returns the wait from then on.
func (b *Backoff) Fail(now time.Time) time.Duration {
	if b.failures > 0 && b.Policy.ResetAfter > 0 && now.Sub(b.Until) >= b.Policy.ResetAfter {
		b.failures = 0
	}
	if b.failures < math.MaxInt {
		b.failures++
	}
	random := 0.0
	if b.Policy.Jitter > 0 {
		random = jitter.Float64()
	}
	d := b.Policy.Delay(b.failures, random)
	b.Until = now.Add(d)
	return d
}

// Failures returns the number of failures in a row.
func (b *Backoff) Failures() int { return b.failures }

// Reset forgets the failures: the next one counts as the first.
func (b *Backoff) Reset() { b.failures, b.Until = 0, time.Time{} }
