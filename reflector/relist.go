package reflector

import "errors"

var errRelist = errors.New("reflector: content is to be listed anew")

// Relist has the content listed once more, as it is newest, by a list that begins after the call. It
// ends the watch that is open, and waits for nothing. While content is being listed, or the server
// cannot be reached, it is done as soon as there is a watch again. It may be called from any goroutine;
// calls that come meanwhile are one.
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
	return c.list(at, p)
}
