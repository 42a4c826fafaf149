package probe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/flyball-io/flyball/run"
)

// check is one check of a set, or one group of them.
type check struct {
	name  string
	group bool
	f     func(ctx context.Context) ([]Result, error)
	o     Options

	mu     sync.Mutex
	now    *call               // nil: it does not run
	last   *call               // the last that has returned; nil: there is none, or it was forgotten
	failed map[string]standing // those that are not in order, as the log knows it
}

// call is one call of a check, shared by all who ask meanwhile.
type call struct {
	began  time.Time
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when it has returned

	// Under the mutex of the check.
	asking    int
	forgotten bool // it began before what it says was to be forgotten

	// To be read once done is closed.
	results []Result
	err     error // no results, since the check as such failed
}

// ask waits for the call that runs, or starts one, and says what came of it.
func (c *check) ask(ctx context.Context) []Result {
	for {
		k, mine := c.join()
		answered := k.await(ctx, c.o.Timeout)
		if !mine && answered {
			continue // it was told to end before this one asked: its answer is none
		}
		var err error
		switch {
		case answered:
		case ctx.Err() != nil:
			err = context.Cause(ctx) // says nothing of the check
		default:
			k.cancel(ErrNoAnswer)
			err = fmt.Errorf("%w: %s so far", ErrNoAnswer, time.Since(k.began).Truncate(time.Millisecond))
		}
		if mine {
			c.leave(k)
		}
		results := c.told(k, err)
		if answered || ctx.Err() == nil {
			c.log(results)
		}
		return results
	}
}

// told is what a call came to: the results, or why there are none.
func (c *check) told(k *call, err error) []Result {
	if err == nil {
		if err = k.err; err == nil {
			return k.results
		}
	}
	return []Result{{Name: c.name, Err: err}}
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
		if c.now == k {
			c.now = nil
		}
		if ctx.Err() == nil && !k.forgotten {
			c.last = k
		}
	}()
	k.err = run.Safely(c.name, func() (err error) {
		k.results, err = c.f(ctx)
		return err
	})
}

// forget has nobody be told what the check said until now.
func (c *check) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = nil
	if c.now != nil {
		c.now.forgotten = true
	}
}

var errGoexit = errors.New("the check left by runtime.Goexit")

// standing is how a check stands.
type standing uint8

const (
	inOrder standing = iota
	isExcused
	fails
)

func (r Result) standing() standing {
	switch {
	case r.Err != nil:
		return fails
	case r.Excused != nil:
		return isExcused
	}
	return inOrder
}

// log tells of changes only, so that a probe every second does not fill the log.
func (c *check) log(results []Result) {
	var changed []Result
	c.mu.Lock()
	was := c.failed
	c.failed = nil
	for _, r := range results {
		is := r.standing()
		if is != was[r.Name] {
			changed = append(changed, r)
		}
		if is == inOrder {
			continue
		}
		if c.failed == nil {
			c.failed = map[string]standing{}
		}
		c.failed[r.Name] = is
	}
	c.mu.Unlock()
	for _, r := range changed {
		switch r.standing() {
		case inOrder:
			c.o.Logger.Info("check is in order again", "check", r.Name)
		case isExcused:
			c.o.Logger.Warn("check is excused", "check", r.Name, "why", r.Excused.Why, "err", r.Excused.Err)
		case fails:
			attrs := []any{"check", r.Name, "err", r.Err}
			if p, ok := errors.AsType[*run.PanicError](r.Err); ok {
				attrs = append(attrs, "stack", string(p.Stack))
			}
			c.o.Logger.Warn("check fails", attrs...)
		}
	}
}

// askAll asks all at once, but for those whose last answer is younger than age.
func askAll(ctx context.Context, checks []*check, age time.Duration) [][]Result {
	out := make([][]Result, len(checks))
	var all sync.WaitGroup
	for i, c := range checks {
		if k, ok := c.recent(age); ok {
			out[i] = c.told(k, nil)
			continue
		}
		all.Go(func() { out[i] = c.ask(ctx) })
	}
	all.Wait()
	return out
}

// recent is the last call, if it is young enough.
func (c *check) recent(age time.Duration) (*call, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last, c.last != nil && time.Since(c.last.began) < age
}
