package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/flyball-io/flyball/backoff"
	"github.com/flyball-io/flyball/run"
)

// Limited returns a client whose requests have a limit of their own, of qps requests a second and
// burst at once; see [Options.QPS]. Requests of c do not wait for its, nor its for those of c.
// Everything else is shared with c, which itself stays as it is.
func (c *Live) Limited(qps float64, burst int) *Live {
	d := *c
	d.limit = newLimit(qps, burst)
	return &d
}

// ThrottledError is the error for a request whose turn under [Options.QPS] does not come before the deadline
// of its ctx. Nothing was sent, and nothing was waited for. It unwraps to [context.DeadlineExceeded].
type ThrottledError struct {
	Call
	// Wait is how long the request would have had to wait.
	Wait time.Duration
}

func (e *ThrottledError) Error() string {
	return fmt.Sprintf("%s: its turn under the rate limit of the client comes in %v, not before the deadline of the call", e.Call, e.Wait.Round(time.Millisecond))
}

// Unwrap returns [context.DeadlineExceeded].
func (e *ThrottledError) Unwrap() error { return context.DeadlineExceeded }

// limit lets requests through at a rate, in the order in which they come. A request takes a token
// when it goes, not before: one that leaves the queue has nothing to give back. A nil limit lets
// everything through at once.
type limit struct {
	front chan struct{} // holds the request at the front of the queue

	mu     sync.Mutex
	bucket backoff.Bucket
	queue  int // requests that wait, that at the front included
}

func newLimit(qps float64, burst int) *limit {
	if !(qps > 0) {
		return nil
	}
	return &limit{front: make(chan struct{}, 1), bucket: backoff.Bucket{Rate: qps, Burst: burst}}
}

// wait returns nil when the request may go. The error is a *[ThrottledError], or the end of ctx.
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

// enter takes a token if nobody waits and there is one; else it joins the queue, unless that is in vain.
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

// take takes a token, or says how long until there is one.
func (l *limit) take() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.bucket.TryTake(now) {
		return 0
	}
	return l.bucket.Until(now, 1)
}
