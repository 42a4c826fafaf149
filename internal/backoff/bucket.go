package backoff

import (
	"math"
	"time"
)

// Bucket is a token bucket: it gains Rate tokens a second and holds up to Burst. It starts full. A
// Bucket with only its fields set is ready to use. The zero value limits nothing.
//
// It stores one point in time and no count: it does not drift and needs no refills.
type Bucket struct {
	// Rate is in tokens a second. Zero, negative or infinite means no limit.
	Rate float64
	// Burst is the number of tokens that may be taken at once. Below 1 means 1.
	Burst int

	full time.Time // when the bucket will be full
}

// Reserve takes one token and returns the wait from now until it may be used. The wait is zero
// while the bucket has tokens; then each call adds 1/Rate. Reserve never refuses. A now before that of an earlier call takes from the same bucket and waits longer
// accordingly.
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

// GiveBack returns a token that was reserved and is not going to be used. Call it before the wait for the token is over.
func (b *Bucket) GiveBack() {
	if b.limits() {
		b.full = b.full.Add(-b.interval())
	}
}

// TryTake takes a token if one is available now, and reports whether it did.
func (b *Bucket) TryTake(now time.Time) bool {
	if b.limits() && b.wait(now) > 0 {
		return false
	}
	b.Reserve(now)
	return true
}

// Until returns the wait from now until n tokens are available, and takes none. It is zero if n are
// available now. An n below 1 means 1.
func (b *Bucket) Until(now time.Time, n int) time.Duration {
	if !b.limits() {
		return 0
	}
	later := *b
	if later.full.Before(now) {
		later.full = now
	}
	ahead := float64(b.interval()) * float64(max(n, 1)-1)
	if ahead > float64(maxInterval) {
		return maxInterval
	}
	later.full = later.full.Add(time.Duration(ahead))
	return later.wait(now)
}

func (b *Bucket) limits() bool { return b.Rate > 0 && !math.IsInf(b.Rate, 1) }

// wait returns the wait from now for one token.
func (b *Bucket) wait(now time.Time) time.Duration {
	missing := b.full.Sub(now) // time until full
	slack := float64(b.interval()) * float64(max(b.Burst, 1)-1)
	if float64(missing) <= slack {
		return 0
	}
	return missing - time.Duration(slack)
}

// maxInterval is a hundred years.
const maxInterval = 100 * 365 * 24 * time.Hour

// interval returns the time to gain one token, at most a hundred years.
func (b *Bucket) interval() time.Duration {
	return time.Duration(min(float64(time.Second)/b.Rate, float64(maxInterval)))
}
