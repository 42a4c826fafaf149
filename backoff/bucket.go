package backoff

import (
	"math"
	"time"
)

// Bucket is a token bucket: Rate tokens a second, of which up to Burst are kept for later. It
// starts full. A Bucket with only its fields set is ready to use; the zero value limits nothing.
//
// It keeps one point in time and no count, so that it neither drifts nor needs refilling.
type Bucket struct {
	// Rate is in tokens a second. Zero, negative or infinite: no limit.
	Rate float64
	// Burst is how many tokens may be taken at once. Below 1: 1.
	Burst int

	full time.Time // when the bucket will be full again
}

// Reserve takes one token and returns how long to wait from now until it may be used: zero while
// the bucket has some, then always longer, by 1/Rate each. It never refuses and cannot be undone.
// A now before that of an earlier call takes from the same bucket and waits accordingly longer.
func (b *Bucket) Reserve(now time.Time) time.Duration {
	if !b.limits() {
		return 0
	}
	wait := b.wait(now)
	if b.full.Before(now) {
		b.full = now
	}
	b.full = b.full.Add(b.interval())
	return wait
}

// TryTake takes a token if there is one now, and reports whether there was.
func (b *Bucket) TryTake(now time.Time) bool {
	if b.limits() && b.wait(now) > 0 {
		return false
	}
	b.Reserve(now)
	return true
}

// Until returns how long from now the n-th token comes that nobody has taken, and takes none: zero if
// there are n now. Below 1, n is 1.
func (b *Bucket) Until(now time.Time, n int) time.Duration {
	if !b.limits() {
		return 0
	}
	later := *b
	if later.full.Before(now) {
		later.full = now
	}
	ahead := float64(b.interval()) * float64(max(n, 1)-1)
	if ahead > float64(longest) {
		return longest
	}
	later.full = later.full.Add(time.Duration(ahead))
	return later.wait(now)
}

func (b *Bucket) limits() bool { return b.Rate > 0 && !math.IsInf(b.Rate, 1) }

// wait is how long from now until a token is there.
func (b *Bucket) wait(now time.Time) time.Duration {
	missing := b.full.Sub(now) // the time it takes to fill up
	slack := float64(b.interval()) * float64(max(b.Burst, 1)-1)
	if float64(missing) <= slack {
		return 0
	}
	return missing - time.Duration(slack)
}

// longest is a hundred years.
const longest = 100 * 365 * 24 * time.Hour

// interval is the time one token takes; a hundred years at most.
func (b *Bucket) interval() time.Duration {
	return time.Duration(min(float64(time.Second)/b.Rate, float64(longest)))
}
