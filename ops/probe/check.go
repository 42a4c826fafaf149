package probe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/run"
)

// check is one check of a set, or one group.
type check struct {
	name  string
	group bool
	f     func(ctx context.Context) ([]Outcome, error)
	o     Options

	mu      sync.Mutex
	current *call              // nil: it does not run
	last    *call              // the last one that returned in time; nil: none, or Forget dropped it
	logged  map[string]history // by name, of the checks that the last outcomes had
}

// call is one call of a check. All concurrent callers share it.
type call struct {
	began  time.Time
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when it has returned

	// The mutex of the check guards these.
	callers   int
	forgotten bool // Forget was called after it began

	// These may be read once done is closed.
	outcomes []Outcome
	err      error // the check as such failed, without outcomes
}

// ask joins the running call, or starts one, and returns its outcomes.
func (c *check) ask(ctx context.Context) []Outcome {
	for {
		k, mine := c.join()
		answered := k.await(ctx, c.o.Timeout)
		if !mine && answered {
			continue // the call was cancelled before this caller joined: its answer is void
		}
		var err error
		switch {
		case answered:
		case ctx.Err() != nil:
			err = context.Cause(ctx) // this is not the fault of the check
		default:
			k.cancel(ErrNoAnswer)
			err = fmt.Errorf("%w: %s so far", ErrNoAnswer, time.Since(k.began).Truncate(time.Millisecond))
		}
		if mine {
			c.leave(k)
		}
		outcomes := c.outcomesOf(k, err)
		if answered || ctx.Err() == nil {
			c.log(outcomes)
		}
		return outcomes
	}
}

// outcomesOf returns the outcomes of a call, or its error as the only result.
func (c *check) outcomesOf(k *call, err error) []Outcome {
	if err == nil {
		if err = k.err; err == nil {
			return k.outcomes
		}
	}
	return []Outcome{{Name: c.name, Err: err}}
}

// await reports whether the call has ended, before ctx and before its timeout.
func (k *call) await(ctx context.Context, timeout time.Duration) bool {
	select {
	case <-k.done:
		return true
	case <-ctx.Done():
	case <-time.After(time.Until(k.began.Add(timeout))):
	}
	select {
	case <-k.done:
		return true
	default:
		return false
	}
}

// join returns the running call, or a new one. A caller that has joined must call leave. A
// cancelled call cannot be joined.
func (c *check) join() (k *call, joined bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		ctx, cancel := context.WithCancelCause(context.Background())
		c.current = &call{began: time.Now(), cancel: cancel, done: make(chan struct{})}
		go c.run(ctx, c.current)
	} else if c.current.callers == 0 {
		return c.current, false
	}
	c.current.callers++
	return c.current, true
}

// leave cancels the call if its last caller leaves.
func (c *check) leave(k *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.callers--; k.callers == 0 {
		k.cancel(errNotAsked)
	}
}

// run is the goroutine of a call. It ends only when the check returns.
func (c *check) run(ctx context.Context, k *call) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Timeout, ErrNoAnswer)
	defer cancel()
	defer close(k.done)
	k.err = errGoexit
	// A check that ends by runtime.Goexit has ended, too.
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.current == k {
			c.current = nil
		}
		if ctx.Err() == nil && !k.forgotten {
			c.last = k
		}
	}()
	k.err = run.Safely(c.name, func() (err error) {
		k.outcomes, err = c.f(ctx)
		return err
	})
}

// forget drops the cached answer of the check, and that of the running call.
func (c *check) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = nil
	if c.current != nil {
		c.current.forgotten = true
	}
}

var errGoexit = errors.New("the check ended by runtime.Goexit")

// standing is the state of a check.
type standing uint8

const (
	inOrder standing = iota
	isExcused
	fails
)

func (r Outcome) standing() standing {
	switch {
	case r.Err != nil:
		return fails
	case r.Excused != nil:
		return isExcused
	}
	return inOrder
}

// history is what the log remembers of a check.
type history struct {
	is     standing
	since  time.Time // of the first outcome
	worked bool      // it has been in order
	warned bool      // its present standing was logged as a warning
}

// startTime is how long a check that has never been in order may fail without a warning. A program that starts
// fails its checks until what they ask for is there.
const startTime = 30 * time.Second

// next is the history after an outcome, and whether that is logged.
func (h history) next(r Outcome, now time.Time) (_ history, logged bool) {
	was := h
	if h.since.IsZero() {
		h.since = now
	}
	h.is = r.standing()
	h.worked = h.worked || h.is == inOrder
	_, panicked := errors.AsType[*run.PanicError](r.Err)
	h.warned = h.is != inOrder && (h.worked || panicked || now.Sub(h.since) >= startTime || was.warned)
	return h, h.is != was.is || h.warned && !was.warned
}

// log logs changes only, so that a probe every second does not fill the log.
func (c *check) log(outcomes []Outcome) {
	now := time.Now()
	type line struct {
		Outcome
		was, is history
	}
	var lines []line
	c.mu.Lock()
	known := make(map[string]history, len(outcomes))
	for _, r := range outcomes {
		was := c.logged[r.Name]
		is, changed := was.next(r, now)
		if known[r.Name] = is; changed {
			lines = append(lines, line{r, was, is})
		}
	}
	c.logged = known
	c.mu.Unlock()
	for _, r := range lines {
		level := slog.LevelInfo
		if r.is.warned {
			level = slog.LevelWarn
		}
		switch {
		case r.is.is == inOrder && r.was.worked:
			c.o.Logger.Info("check is in order again", "check", r.Name)
		case r.is.is == inOrder:
			c.o.Logger.Info("check is in order", "check", r.Name)
		case r.is.is == isExcused:
			c.o.Logger.Log(context.Background(), level, "check is excused", "check", r.Name, "why", r.Excused.Why, "err", r.Excused.Err)
		case !r.is.warned:
			c.o.Logger.Info("check is not in order yet", "check", r.Name, "err", r.Err)
		default:
			c.o.Logger.Warn("check fails", logguard.ErrAttrs(r.Err, "check", r.Name)...)
		}
	}
}

// askAll runs all checks concurrently. A check whose last answer is younger than age is not run.
func askAll(ctx context.Context, checks []*check, age time.Duration) [][]Outcome {
	out := make([][]Outcome, len(checks))
	var all sync.WaitGroup
	for i, c := range checks {
		if k, ok := c.recent(age); ok {
			out[i] = c.outcomesOf(k, nil)
			continue
		}
		all.Go(func() { out[i] = c.ask(ctx) })
	}
	all.Wait()
	return out
}

// recent returns the last call if it is younger than age.
func (c *check) recent(age time.Duration) (*call, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last, c.last != nil && time.Since(c.last.began) < age
}
