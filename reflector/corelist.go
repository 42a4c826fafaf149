package reflector

import (
	"io"
	"time"

	"github.com/flyball-io/flyball/store"
)

// list starts a list from its beginning.
func (c *Core) list(at moment, p plan) Action {
	c.abort()
	c.plan, c.cont = p, ""
	if c.state.Phase.Good() {
		c.phase(at, Listing)
	}
	return c.request(at)
}

// request asks for what the plan wants next: the streaming list, or a page.
func (c *Core) request(at moment) Action {
	c.open = false
	from := c.state.ResourceVersion
	if c.plan.newest {
		from = ""
	}
	if !c.plan.paged && !c.state.NoStream && c.cont == "" {
		c.mode = streaming
		c.timeout = c.drawTimeout(at)
		return Action{Do: Watch, Initial: true, Version: from, Timeout: c.timeout, Until: c.deadline(at, c.cfg.Stall)}
	}
	c.mode = listing
	if from == "" && !c.plan.newest {
		from = "0"
	}
	limit := c.cfg.PageSize
	if c.plan.whole {
		limit = 0
	}
	if c.cont != "" {
		from = ""
	}
	return Action{Do: List, Version: from, Continue: c.cont, Limit: limit, Until: c.deadline(at, c.cfg.Stall)}
}

func (c *Core) stepListing(at moment, in Input) Action {
	switch {
	case in.Event == Opened:
		c.open = true
		c.begin()
	case in.Event == Item && c.open:
		c.put(Upsert, in.Entry)
	case in.Event == PageDone && c.open:
		return c.pageDone(at, in.Version, in.Continue)
	case in.Event == End:
		return c.listFailed(at, in.Err)
	case in.Event == Timer:
		return c.listFailed(at, ErrStalled)
	default:
		return c.next
	}
	c.state.LastEvent = at.now
	return c.read(c.deadline(at, c.cfg.Stall))
}

func (c *Core) pageDone(at moment, version, cont string) Action {
	switch {
	case version == "":
		return c.listFailed(at, ErrNoVersion)
	case c.older(version) && !c.plan.reset:
		return c.listOlder(at)
	case cont != "":
		c.cont = cont
		return c.request(at)
	}
	c.complete(at, version)
	return c.watch(at, long)
}

// listOlder deals with a list that is older than what the sink has. From a server that was asked
// for what is newest it means that the server itself went back: the same list once more, and
// then it is believed. Any other server has an older view, and is left alone for a while.
func (c *Core) listOlder(at moment) Action {
	if c.plan.newest {
		return c.list(at, plan{reason: WentBack, newest: true, paged: true, reset: true})
	}
	c.abort()
	c.plan, c.cont = plan{reason: OlderView, newest: true, paged: true}, ""
	return c.fail(at, "list", ErrOlder, listing, 0)
}

func (c *Core) stepStreaming(at moment, in Input) Action {
	switch in.Event {
	case Opened:
		c.openWatch(at, long)
		c.until = at.now.Add(c.cfg.InitialEvents)
		c.begin()
	case Added, Modified, Deleted:
		if !c.open {
			return c.next
		}
		if in.Event == Added {
			c.until = at.now.Add(c.cfg.InitialEvents)
			if last := c.opened.Add(10 * c.cfg.InitialEvents); c.until.After(last) {
				c.until = last
			}
		}
		op := Upsert
		if in.Event == Deleted {
			op = Delete
		}
		c.put(op, in.Entry)
	case Bookmark:
		if c.open && in.InitialEnd {
			return c.streamDone(at, in.Version)
		}
	case End:
		err := in.Err
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return c.streamFailed(at, err)
	case Timer:
		return c.streamFailed(at, ErrStalled)
	default:
		return c.next
	}
	c.state.LastEvent = at.now
	return c.read(c.until)
}

// streamDone is the end of the initial events: what follows on the same stream is the watch.
func (c *Core) streamDone(at moment, version string) Action {
	switch {
	case version == "":
		return c.streamFailed(at, ErrNoVersion)
	case c.older(version):
		return c.listOlder(at)
	}
	c.complete(at, version)
	c.mode = watching
	c.frames++
	return c.read(c.silentAt(at))
}

// streamFailed goes over to pages for good where the server does not know streaming lists, or
// does not bring them to an end; one that breaks is tried once more.
func (c *Core) streamFailed(at moment, err error) Action {
	cause, _ := classify(err)
	if !c.open && cause == notFound { // a list has the last word
		c.plan.paged = true
		return c.list(at, c.plan)
	}
	if c.open && err == ErrStalled || !c.open && cause == refused {
		c.state.NoStream = true
		return c.list(at, c.plan)
	}
	if c.open || err == ErrStalled {
		c.broken++
		c.state.NoStream = c.broken >= 2
	}
	return c.listFailed(at, err)
}

// listFailed is the ladder for a list that could not be opened or read to its end.
func (c *Core) listFailed(at moment, err error) Action {
	cause, wait := classify(err)
	if cause != notFound {
		c.missing.asked, c.missing.nones = false, 0
	}
	if cause != stranger {
		c.strange = 0
	} else if c.strange++; c.strange >= maxStrange && c.state.HasSynced {
		c.unavailable(at, err)
	}
	next := c.plan
	switch {
	case cause == expired && c.cont != "" && !next.whole:
		next.whole, next.paged = true, true
		next.reason = listReason(next, ListExpired)
		return c.list(at, next)
	case cause == expired && !next.newest:
		next.newest, next.reason = true, listReason(next, ListExpired)
		return c.list(at, next)
	case cause == tooLarge && !next.newest:
		next.newest, next.reason = true, listReason(next, TooLarge)
		return c.list(at, next)
	case cause == refused && !next.newest && c.state.ResourceVersion != "":
		next.newest, next.reason = true, listReason(next, Refused)
		return c.list(at, next)
	case cause == forbidden:
		c.abort()
		c.cont = ""
		return c.absent(at, Forbidden, "list", err, listing)
	case cause == notFound && c.cont == "":
		return c.notServed(at, err)
	}
	if c.cont != "" && !c.open && cause != notFound {
		return c.fail(at, "list", err, listing, wait) // the same page again
	}
	c.abort()
	c.cont = ""
	return c.fail(at, "list", err, listing, wait)
}

// listReason keeps the reason of the first list, whatever it takes.
func listReason(p plan, r Reason) Reason {
	if p.reason == First || p.reset {
		return p.reason
	}
	return r
}

func (c *Core) begin() {
	if !c.replacing {
		c.replacing = true
		c.emit = append(c.emit, Emission{Op: Begin, Reset: c.plan.reset, Reason: c.plan.reason})
	}
}

func (c *Core) abort() {
	if c.replacing {
		c.replacing = false
		c.emit = append(c.emit, Emission{Op: Abort})
	}
}

// finish hands the new content over.
func (c *Core) finish(version string) {
	c.replacing = false
	c.emit = append(c.emit, Emission{Op: Complete, Version: version})
	c.state.ResourceVersion = version
	count(&c.state.Relists, c.plan.reason)
}

// complete is a list that came to its end.
func (c *Core) complete(at moment, version string) {
	c.finish(version)
	c.state.HasSynced, c.state.UnavailableSince = true, time.Time{}
	c.plan, c.cont, c.missing = plan{}, "", missing{}
	c.broken = 0
	c.probeAt, c.probeGap = at.now.Add(c.cfg.Absent), 0
	c.good(at)
}

// put passes an object on, and reports it if it cannot be used.
func (c *Core) put(op Op, e *store.Entry) {
	h := e.Header()
	err := e.Err()
	if err == nil && h.Name == "" {
		err = ErrNoName
	}
	if err != nil {
		version := h.ResourceVersion
		if version == "" {
			version = c.state.ResourceVersion
		}
		c.emit = append(c.emit, Emission{Op: Report, Problem: Problem{Key: h.Key, ResourceVersion: version, Err: err}})
	}
	if h.Name != "" {
		c.emit = append(c.emit, Emission{Op: op, Entry: e})
	}
}

func (c *Core) drawTimeout(at moment) time.Duration {
	span := c.cfg.MaxTimeout - c.cfg.MinTimeout
	return c.cfg.MinTimeout + time.Duration(at.random*float64(max(span, 0)))
}
