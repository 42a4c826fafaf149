package life

import (
	"context"

	"github.com/flyball-io/flyball/run"
)

// campaigning is the name of the election in an error.
const campaigning = "leader election"

// campaign is the phase Lead of one run with an election. Its members run while this process leads. The
// lease is released when the last of them has ended, and not before.
type campaign struct {
	life   *Life
	fail   context.CancelCauseFunc // stops the run
	stop   context.CancelCauseFunc
	abort  context.Context // ends when the lease is lost
	lose   context.CancelCauseFunc
	ended  chan struct{}
	result error // valid when ended is closed
}

// campaign starts one on a goroutine of its own.
func (l *Life) campaign(ctx context.Context, fail context.CancelCauseFunc) *campaign {
	ctx = context.WithoutCancel(ctx)
	elected, stop := context.WithCancelCause(ctx)
	c := &campaign{life: l, fail: fail, stop: stop, ended: make(chan struct{})}
	c.abort, c.lose = context.WithCancelCause(ctx)
	l.mu.Lock()
	l.term = c
	l.mu.Unlock()
	go func() {
		defer close(c.ended)
		defer stop(nil)
		defer c.lose(nil)
		c.result = run.Safely(campaigning, func() error { return l.Elect(elected, c.lead) })
		if c.result != nil {
			fail(c.result)
		}
	}()
	return c
}

// lead runs the members until ctx ends, and waits until all have ended, without a bound. The callers that
// wait for the campaign have one.
func (c *campaign) lead(ctx context.Context) error {
	group, _ := run.New(c.life.Aborted(context.WithoutCancel(ctx), c.abort))
	c.life.start(Lead, group)
	<-ctx.Done()
	cause := context.Cause(ctx)
	c.fail(cause) // no effect if the run stops already
	c.life.shut(Lead)
	group.Stop(cause)
	group.Wait()
	return nil
}

// Lost cancels the reconciles that run under the lease. It is called before the ctx of lead ends, and also
// when that has ended already because the run stops.
func (l *Life) Lost(err error) {
	l.mu.Lock()
	c := l.term
	l.mu.Unlock()
	if c != nil {
		c.lose(err)
	}
}
