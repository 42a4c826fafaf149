package workqueue

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/flyball-io/flyball/internal/backoff"
)

// RateLimiter decides how long a failed key waits. A queue calls it under its own lock, so it needs
// none, unless two queues share it. It must not call the queue. now is the time of the failure.
type RateLimiter[K comparable] interface {
	// When counts a failure of key and returns the wait from now. Zero or less means no wait.
	When(key K, now time.Time) time.Duration
	// Forget clears the failures of key, which has succeeded or is given up.
	Forget(key K)
	// NumRequeues returns the failures counted for key since Forget.
	NumRequeues(key K) int
}

// DefaultLimiter has the figures of client-go. It returns the longer of two delays: an exponential
// delay for each key, from 5 ms doubling to 1000 s, and a bucket for all keys together. The bucket
// passes 10 failures a second, with a burst of 100.
func DefaultLimiter[K comparable]() RateLimiter[K] {
	return MaxOf(ExponentialLimiter[K](5*time.Millisecond, 1000*time.Second), BucketLimiter[K](10, 100))
}

// validator is a limiter that can check its parameters.
type validator interface{ validate() error }

// failures counts failures by key. A key without failures takes no memory.
type failures[K comparable] map[K]int

func (f *failures[K]) count(key K) int {
	if *f == nil {
		*f = failures[K]{}
	}
	(*f)[key]++
	return (*f)[key]
}

func (f *failures[K]) Forget(key K) {
	if *f == nil {
		return
	}
	delete(*f, key)
	if len(*f) == 0 {
		*f = nil
	}
}

func (f *failures[K]) NumRequeues(key K) int { return (*f)[key] }

type exponential[K comparable] struct {
	failures[K]
	policy backoff.Policy
}

// ExponentialLimiter delays each key separately: base after its first failure, doubled after each
// further one, max at most. base must be positive and not above max; otherwise New returns an
// error.
func ExponentialLimiter[K comparable](base, max time.Duration) RateLimiter[K] {
	return &exponential[K]{policy: backoff.Policy{Base: base, Max: max}}
}

func (l *exponential[K]) When(key K, _ time.Time) time.Duration {
	return l.policy.Delay(l.count(key), 0)
}

func (l *exponential[K]) validate() error {
	if l.policy.Base <= 0 || l.policy.Max < l.policy.Base {
		return fmt.Errorf("ExponentialLimiter(%v, %v): want 0 < base ≤ max", l.policy.Base, l.policy.Max)
	}
	return nil
}

type fastSlow[K comparable] struct {
	failures[K]
	fast, slow time.Duration
	attempts   int
}

// FastSlowLimiter delays each key separately: fast for its first attempts failures, slow for each
// further one. A negative parameter makes New return an error.
func FastSlowLimiter[K comparable](fast, slow time.Duration, attempts int) RateLimiter[K] {
	return &fastSlow[K]{fast: fast, slow: slow, attempts: attempts}
}

func (l *fastSlow[K]) When(key K, _ time.Time) time.Duration {
	if l.count(key) <= l.attempts {
		return l.fast
	}
	return l.slow
}

func (l *fastSlow[K]) validate() error {
	if l.fast < 0 || l.slow < 0 || l.attempts < 0 {
		return fmt.Errorf("FastSlowLimiter(%v, %v, %d): want no negative parameter", l.fast, l.slow, l.attempts)
	}
	return nil
}

// bucket takes a token for each failure. It takes back tokens that are not needed: when a key is forgotten, or
// fails again, before its wait is over.
type bucket[K comparable] struct {
	tokens backoff.Bucket
	due    map[K]time.Time // ends of waits
	sized  int             // length of due when what was over was last removed
	// unused are the ends of waits of keys that were forgotten. Forget is told no time: When sees which of these
	// waits were not over, at least since the last failure.
	unused []time.Time
}

// BucketLimiter passes rate failures a second of all keys together, with bursts of burst. It counts
// nothing by key. A key that is forgotten before its wait is over gives its place back. Both must be
// positive; otherwise New returns an error.
func BucketLimiter[K comparable](rate float64, burst int) RateLimiter[K] {
	return &bucket[K]{tokens: backoff.Bucket{Rate: rate, Burst: burst}}
}

func (l *bucket[K]) When(key K, now time.Time) time.Duration {
	for _, end := range l.unused {
		if end.After(now) {
			l.tokens.GiveBack()
		}
	}
	l.unused = nil
	if left := l.due[key].Sub(now); left > 0 {
		return left
	}
	wait := l.tokens.Reserve(now)
	if wait > 0 {
		l.record(key, now, now.Add(wait))
	} else {
		delete(l.due, key)
	}
	return wait
}

// record keeps the end of a wait. At times it removes those that are over.
func (l *bucket[K]) record(key K, now, end time.Time) {
	if l.due == nil {
		l.due = map[K]time.Time{}
	}
	l.due[key] = end
	if len(l.due) < 2*l.sized+64 {
		return
	}
	maps.DeleteFunc(l.due, func(_ K, end time.Time) bool { return !end.After(now) })
	l.sized = len(l.due)
}

func (l *bucket[K]) Forget(key K) {
	end, ok := l.due[key]
	if !ok {
		return
	}
	l.unused = append(l.unused, end)
	if delete(l.due, key); len(l.due) == 0 {
		l.due, l.sized = nil, 0
	}
}

func (l *bucket[K]) NumRequeues(K) int { return 0 }

func (l *bucket[K]) validate() error {
	if !(l.tokens.Rate > 0) || l.tokens.Burst < 1 {
		return fmt.Errorf("BucketLimiter(%v, %d): want a positive rate and burst", l.tokens.Rate, l.tokens.Burst)
	}
	return nil
}

type maxOf[K comparable] []RateLimiter[K]

// MaxOf calls every limiter and returns the longest delay and the highest count. It needs at least
// one limiter and none may be nil; otherwise New returns an error.
func MaxOf[K comparable](limiters ...RateLimiter[K]) RateLimiter[K] { return maxOf[K](limiters) }

func (l maxOf[K]) When(key K, now time.Time) time.Duration {
	var longest time.Duration
	for _, one := range l {
		longest = max(longest, one.When(key, now))
	}
	return longest
}

func (l maxOf[K]) Forget(key K) {
	for _, one := range l {
		one.Forget(key)
	}
}

func (l maxOf[K]) NumRequeues(key K) int {
	highest := 0
	for _, one := range l {
		highest = max(highest, one.NumRequeues(key))
	}
	return highest
}

func (l maxOf[K]) validate() error {
	if len(l) == 0 {
		return errors.New("MaxOf(): no limiter")
	}
	for i, one := range l {
		if one == nil {
			return fmt.Errorf("MaxOf: limiter %d is nil", i)
		}
		if v, ok := one.(validator); ok {
			if err := v.validate(); err != nil {
				return fmt.Errorf("MaxOf: %w", err)
			}
		}
	}
	return nil
}
