package probe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/flyball-io/flyball/run"
)

// check is one check of a set.
type check struct {
	name string
	f    Check
	o    Options

	mu     sync.Mutex
	now    *call // nil: it does not run
	failed bool  // as the log knows it
}

// call is one call of a check, shared by all who ask meanwhile.
type call struct {
	began  time.Time
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when it has returned
	err    error         // to be read once done is closed
	asking int           // under the mutex of the check
}

// ask waits for the call that runs, or starts one, and says what came of it.
func (c *check) ask(ctx context.Context) error {
	for {
		k, mine := c.join()
		answered := k.await(ctx, c.o.Timeout)
		if !mine && answered {
			continue // it was told to end before this one asked: its answer is none
		}
		var err error
		switch {
		case answered:
			err = k.err
		case ctx.Err() != nil:
			err = context.Cause(ctx) // says nothing of the check
		default:
			k.cancel(ErrNoAnswer)
			err = fmt.Errorf("%w: %s so far", ErrNoAnswer, time.Since(k.began).Truncate(time.Millisecond))
		}
		if mine {
			c.leave(k)
		}
		if answered || ctx.Err() == nil {
			c.log(err)
		}
		return err
	}
}

// await reports whether the call has ended, before ctx and before its time was over.
func (k *call) await(ctx context.Context, timeout time.Duration) bool {
	t := time.NewTimer(time.Until(k.began.Add(timeout)))
	defer t.Stop()
	select {
	case <-k.done:
		return true
	case <-ctx.Done():
	case <-t.C:
	}
	select {
	case <-k.done:
		return true
	default:
		return false
	}
}

// join returns the call that runs, or a new one. Whoever has joined leaves it again; one that was
// told to end cannot be joined.
func (c *check) join() (k *call, joined bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == nil {
		ctx, cancel := context.WithCancelCause(context.Background())
		c.now = &call{began: time.Now(), cancel: cancel, done: make(chan struct{})}
		go c.run(ctx, c.now)
	} else if c.now.asking == 0 {
		return c.now, false
	}
	c.now.asking++
	return c.now, true
}

// leave ends the call that nobody waits for any more.
func (c *check) leave(k *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.asking--; k.asking == 0 {
		k.cancel(ErrNotAsked)
	}
}

// run is the goroutine of a call. It ends when the check returns: there is no other way.
func (c *check) run(ctx context.Context, k *call) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Timeout, ErrNoAnswer)
	defer cancel()
	defer close(k.done)
	k.err = errGoexit
	// A check that leaves by runtime.Goexit is over, too.
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.now = nil
	}()
	k.err = run.Safely(c.name, func() error { return c.f(ctx) })
}

var errGoexit = errors.New("the check left by runtime.Goexit")

// log tells of changes only, so that a probe every second does not fill the log.
func (c *check) log(err error) {
	c.mu.Lock()
	was := c.failed
	c.failed = err != nil
	c.mu.Unlock()
	switch {
	case err != nil && !was:
		attrs := []any{"check", c.name, "err", err}
		if p, ok := errors.AsType[*run.PanicError](err); ok {
			attrs = append(attrs, "stack", string(p.Stack))
		}
		c.o.Logger.Warn("check fails", attrs...)
	case err == nil && was:
		c.o.Logger.Info("check is in order again", slog.String("check", c.name))
	}
}

// askAll asks all at once.
func askAll(ctx context.Context, checks []*check) []Result {
	out := make([]Result, len(checks))
	var all sync.WaitGroup
	for i, c := range checks {
		all.Go(func() { out[i] = Result{Name: c.name, Err: c.ask(ctx)} })
	}
	all.Wait()
	return out
}
