package flyball

import (
	"context"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/run"
)

// campaigning is the name of the election where it does not end.
const campaigning = "leader election"

// campaign is the phase Lead of a life with an election, in one run: its members run while this
// process leads. The lease is given back when the last of them has ended, and not before.
type campaign struct {
	life   *life
	fail   context.CancelCauseFunc // of this run
	stop   context.CancelCauseFunc
	abort  context.Context // ends when the lease is lost
	lose   context.CancelCauseFunc
	ended  chan struct{}
	result error // once ended
}

// campaign begins one on a goroutine of its own.
func (l *life) campaign(ctx context.Context, fail context.CancelCauseFunc) *campaign {
	ctx = context.WithoutCancel(ctx)
	elected, stop := context.WithCancelCause(ctx)
	c := &campaign{life: l, fail: fail, stop: stop, ended: make(chan struct{})}
	c.abort, c.lose = context.WithCancelCause(ctx)
	l.mu.Lock()
	l.now = c
	l.mu.Unlock()
	go func() {
		defer close(c.ended)
		defer stop(nil)
		defer c.lose(nil)
		c.result = run.Safely(campaigning, func() error { return l.elect(elected, c.lead) })
		if c.result != nil {
			fail(c.result)
		}
	}()
	return c
}

// lead runs the members while ctx lasts. It waits for them however long they take: whoever waits
// for the campaign has a bound.
func (c *campaign) lead(ctx context.Context) error {
	group, _ := run.New(controller.WithAbort(context.WithoutCancel(ctx), c.abort))
	c.life.start(Lead, group)
	<-ctx.Done()
	cause := context.Cause(ctx)
	c.fail(cause) // the cause of the run, unless it is that already
	c.life.shut(Lead)
	group.Stop(cause)
	group.Wait()
	return nil
}

// lost has reconciles cancelled that run under the lease. It is called before the ctx of lead ends,
// and also when that has ended already, as the run stops.
func (l *life) lost(err error) {
	l.mu.Lock()
	c := l.now
	l.mu.Unlock()
	if c != nil {
		c.lose(err)
	}
}
