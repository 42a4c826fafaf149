package reflector

import (
	"time"

	"github.com/flyball-io/flyball/internal/paging"
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
	c.plan.newest = c.plan.newest || c.state.Unordered
	from := c.state.ResourceVersion
	if c.plan.newest {
		from = ""
	}
	if c.streams(at) {
		return c.stream(at, from)
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
		paging.Item(&c.pages, in.Entry.Key())
		c.listed(in.Entry)
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
	case c.isOlder(version) && !c.plan.reset:
		return c.listOlder(at, version)
	case cont != "":
		if c.pages.Next(cont) != nil {
			return c.pagesEndless(at)
		}
		c.cont = cont
		return c.request(at)
	}
	if err := c.incomplete(); err != nil {
		return c.listFailed(at, err)
	}
	c.complete(at, version)
	if c.doubt > 1 {
		return c.watch(at, check)
	}
	return c.watch(at, long)
}

// pagesEndless gives up on pages that go round in circles, and asks for all in one after a while.
func (c *Core) pagesEndless(at moment) Action {
	c.abort()
	c.cont = ""
	c.plan.whole, c.plan.paged = true, true
	return c.fail(at, "list", ErrEndless, listing, 0)
}

// listOlder deals with a list that is older than what the sink has. From a server that was asked
// for what is newest it means that the server itself went back: the same list once more, and
// then it is believed. Any other server has an older view, and is left alone for a while.
func (c *Core) listOlder(at moment, version string) Action {
	if c.plan.newest {
		return c.list(at, c.wentBack(at, version))
	}
	c.abort()
	c.countBackward(at)
	c.plan, c.cont = plan{reason: OlderView, newest: true, paged: true}, ""
	return c.fail(at, "list", ErrOlder, listing, 0)
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
	case next.optional && cause != notFound && c.state.UnavailableSince.IsZero():
		return c.relistFailed(at, err, wait)
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
		c.replacing, c.pages, c.tally = true, paging.Guard{}, tally{}
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
	c.state.ResourceVersion, c.shown, c.whole = version, version, c.tally
	c.hurried = 0
	count(&c.state.Relists, c.plan.reason)
}

// complete is a list that came to its end.
func (c *Core) complete(at moment, version string) {
	c.finish(version)
	c.state.HasSynced, c.state.UnavailableSince = true, time.Time{}
	c.decided(at)
	c.plan, c.cont, c.missing = plan{}, "", missing{}
	c.probeAt, c.probeGap = at.now.Add(c.cfg.Absent), 0
	c.good(at)
}

// put passes an object on, and reports it if it cannot be used.
func (c *Core) put(op Op, e *store.Entry) {
	if err := e.Err(); err != nil {
		c.report(e, err)
	}
	c.emit = append(c.emit, Emission{Op: op, Entry: e})
}

// report tells of something that came and cannot be used; e may be nil.
func (c *Core) report(e *store.Entry, err error) {
	p := Problem{ResourceVersion: c.state.ResourceVersion, Err: err}
	if e != nil {
		h := e.Header()
		p.Key = h.Key
		if h.ResourceVersion != "" {
			p.ResourceVersion = h.ResourceVersion
		}
	}
	c.emit = append(c.emit, Emission{Op: Report, Problem: p})
}

func (c *Core) drawTimeout(at moment) time.Duration {
	span := c.cfg.MaxTimeout - c.cfg.MinTimeout
	return c.cfg.MinTimeout + time.Duration(at.random*float64(max(span, 0)))
}
