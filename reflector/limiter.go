package reflector

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/flyball-io/flyball/run"
)

// Limiter bounds how many of those who share it list at a time, so that a program that starts
// with many kinds does not ask for all of them at once. Watches that go on are not counted. It is
// safe for use by several goroutines.
type Limiter struct {
	slots  chan struct{}
	jitter time.Duration
}

// NewLimiter lets n list at a time; 8 if n is zero or negative. One that found others listing
// waits up to jitter more, drawn at random, once it has its turn; zero or negative: no longer.
func NewLimiter(n int, jitter time.Duration) *Limiter {
	if n <= 0 {
		n = 8
	}
	return &Limiter{slots: make(chan struct{}, n), jitter: jitter}
}

// acquire waits for a turn. The error is the cause of ctx. A nil Limiter lets all pass.
func (l *Limiter) acquire(ctx context.Context) error {
	if l == nil {
		return nil
	}
	alone := len(l.slots) == 0
	select {
	case l.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if alone || l.jitter <= 0 {
		return nil
	}
	if err := run.Sleep(ctx, time.Duration(rand.Int64N(int64(l.jitter)))); err != nil {
		l.release()
		return err
	}
	return nil
}

func (l *Limiter) release() {
	if l != nil {
		<-l.slots
	}
}
