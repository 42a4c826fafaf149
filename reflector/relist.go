package reflector

import (
	"errors"
	"time"
)

// maxRelists is the number of attempts for a list of Relist.
const maxRelists = 3

var errRelist = errors.New("reflector: content is to be listed anew")

// Relist requests a list of the newest version. The list begins after the call. Relist ends the open watch,
// and does not wait. During another list, and while the server is unreachable, the request waits for the
// next watch. After three failed attempts the watch resumes where it ended. Any goroutine may call Relist.
// Calls before the list begins are one request.
func (r *Reflector) Relist(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.relist = reason
	if r.interrupt != nil {
		r.interrupt(errRelist)
	}
}

// takeRelist returns the pending request of Relist, and clears it.
func (r *Reflector) takeRelist() (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reason := r.relist
	r.relist = ""
	return reason, reason != ""
}

// setInterrupt sets the function with which Relist ends the open watch; nil if no watch is open.
func (r *Reflector) setInterrupt(f func(error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.interrupt = f
	if f != nil && r.relist != "" {
		f(errRelist)
	}
}

// relist starts a list of the newest version. If a streaming list is under way, it starts again
// and keeps its own reason.
func (c *core) relist(at stepTime, why string) action {
	p := plan{reason: why}
	if c.mode == streaming {
		p = c.plan
	}
	p.newest, p.paged = true, true
	p.optional = c.mode != streaming
	return c.list(at, p)
}

// relistFailed retries a list of Relist. After maxRelists failures it resumes the watch, which works: the
// content must follow the server even while lists fail.
func (c *core) relistFailed(at stepTime, err error, wait time.Duration) action {
	c.abort()
	c.cont = ""
	if c.plan.failures++; c.plan.failures < maxRelists {
		return c.fail(at, "list", err, listing, wait)
	}
	c.plan = plan{}
	return c.fail(at, "list", err, watching, wait)
}
