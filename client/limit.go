package client

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flyball-io/flyball/internal/backoff"
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

// limit delays requests to a rate, in the order of their calls. A request takes its token when it leaves
// the queue: one whose ctx ends in the queue holds no token. A nil limit delays nothing.
type limit struct {
	queue atomic.Int64  // requests in the queue
	front chan struct{} // held by the request at the front of the queue

	mu     sync.Mutex
	bucket backoff.Bucket
}

func newLimit(qps float64, burst int) *limit {
	if !(qps > 0) {
		return nil
	}
	return &limit{front: make(chan struct{}, 1), bucket: backoff.Bucket{Rate: qps, Burst: burst}}
}

// wait blocks until the request may pass. The error wraps that of ctx, also if ctx would end first.
func (l *limit) wait(ctx context.Context, call Call) error {
	switch {
	case l == nil:
		return nil
	case ctx.Err() != nil:
		return ended(ctx, call)
	}
	place := l.queue.Add(1)
	defer l.queue.Add(-1)
	l.mu.Lock()
	wait := l.bucket.Until(time.Now(), int(place))
	l.mu.Unlock()
	if end, ok := ctx.Deadline(); ok && wait > 0 && time.Until(end) <= wait {
		return fmt.Errorf("%s: its turn under the rate limit of the client comes in %v, not before the deadline of the call: %w",
			call, wait.Round(time.Millisecond), context.DeadlineExceeded)
	}
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
