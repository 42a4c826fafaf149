package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/flyball-io/flyball/backoff"
	"github.com/flyball-io/flyball/run"
)

// Limited returns a client with a rate limit of its own: qps requests a second, burst at once; see
// [Options.QPS]. Its requests and those of c do not delay each other. It shares everything else with c,
// which does not change.
func (c *Live) Limited(qps float64, burst int) *Live {
	d := *c
	d.limit = newLimit(qps, burst)
	return &d
}

// ThrottledError is the error for a request that cannot pass the limit of [Options.QPS] before the
// deadline of its ctx. Nothing was sent, and the call returned without a wait. It unwraps to
// [context.DeadlineExceeded].
type ThrottledError struct {
	Call
	// Wait is the delay that the limit required.
	Wait time.Duration
}

func (e *ThrottledError) Error() string {
	return fmt.Sprintf("%s: its turn under the rate limit of the client comes in %v, not before the deadline of the call", e.Call, e.Wait.Round(time.Millisecond))
}

// Unwrap returns [context.DeadlineExceeded].
func (e *ThrottledError) Unwrap() error { return context.DeadlineExceeded }

// limit delays requests to a rate, in the order of their calls. A request takes its token when it leaves
// the queue: one whose ctx ends in the queue holds no token. A nil limit delays nothing.
type limit struct {
	front chan struct{} // held by the request at the front of the queue

	mu     sync.Mutex
	bucket backoff.Bucket
	queue  int // requests in the queue, including the front
}

func newLimit(qps float64, burst int) *limit {
	if !(qps > 0) {
		return nil
	}
	return &limit{front: make(chan struct{}, 1), bucket: backoff.Bucket{Rate: qps, Burst: burst}}
}

// wait blocks until the request may pass. The error is a *[ThrottledError], or the end of ctx.
func (l *limit) wait(ctx context.Context, call Call) error {
	if l == nil {
		return nil
	}
	if passed, err := l.enter(ctx, call); passed || err != nil {
		return err
	}
	defer l.leave()
	select {
	case l.front <- struct{}{}:
	case <-ctx.Done():
		return ended(ctx, call)
	}
	defer func() { <-l.front }()
	for {
		wait := l.take()
		if wait == 0 {
			return nil
		}
		if run.Sleep(ctx, wait) != nil {
			return ended(ctx, call)
		}
	}
}

// enter takes a token if the queue is empty and a token is there. Else it joins the queue, unless the
// deadline of ctx comes first.
func (l *limit) enter(ctx context.Context, call Call) (passed bool, err error) {
	if ctx.Err() != nil {
		return false, ended(ctx, call)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.queue == 0 && l.bucket.TryTake(now) {
		return true, nil
	}
	wait := l.bucket.Until(now, l.queue+1)
	if end, ok := ctx.Deadline(); ok && end.Sub(now) <= wait {
		return false, &ThrottledError{Call: call, Wait: wait}
	}
	l.queue++
	return false, nil
}

func (l *limit) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue--
}

// take takes a token and returns 0, or returns the delay until there is one.
func (l *limit) take() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.bucket.TryTake(now) {
		return 0
	}
	return l.bucket.Until(now, 1)
}
