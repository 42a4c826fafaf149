package reflector

import (
	"errors"
	"time"
)

// maxRelists is how often a list that Relist asked for is tried.
const maxRelists = 3

var errRelist = errors.New("reflector: content is to be listed anew")

// Relist has the content listed once more, as it is newest, by a list that begins after the call. It
// ends the watch that is open, and waits for nothing. While content is being listed, or the server
// cannot be reached, it is done as soon as there is a watch again. A list that fails three times is given
// up, and the watch goes on from where it was. It may be called from any goroutine; calls that come
// meanwhile are one.
func (r *Reflector) Relist(reason Reason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.relist = reason
	if r.interrupt != nil {
		r.interrupt(errRelist)
	}
}

// interrupted takes what Relist has asked for.
func (r *Reflector) interrupted() (Reason, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reason := r.relist
	r.relist = ""
	return reason, reason != ""
}

// interruptible has Relist call f; nil: nothing is open that it may end.
func (r *Reflector) interruptible(f func(error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.interrupt = f
	if f != nil && r.relist != "" {
		f(errRelist)
	}
}

// relist lists what is newest, for the reason given. A list that was in progress begins anew.
func (c *Core) relist(at moment, why Reason) Action {
	p := plan{reason: why}
	if c.mode == streaming {
		p = c.plan
	}
	p.newest, p.paged = true, true
	p.optional = c.mode != streaming
	return c.list(at, p)
}

// relistFailed gives up a list that nothing but a Relist was for, and goes back to the watch, which had
// not failed. Without it the kind would not follow the server for as long as lists fail.
func (c *Core) relistFailed(at moment, err error, wait time.Duration) Action {
	c.abort()
	c.cont = ""
	if c.plan.failures++; c.plan.failures < maxRelists {
		return c.fail(at, "list", err, listing, wait)
	}
	c.plan = plan{}
	return c.fail(at, "list", err, watching, wait)
}
