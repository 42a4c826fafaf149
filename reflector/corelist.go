package reflector

import (
	"errors"
	"slices"
	"time"

	"github.com/flyball-io/flyball/internal/paging"
	"github.com/flyball-io/flyball/store"
)

// list starts a new list.
func (c *core) list(at stepTime, p plan) action {
	c.abort()
	c.plan, c.cont = p, ""
	if c.state.Phase.Good() {
		c.setPhase(at, Listing)
	}
	return c.request(at)
}

// request asks for the streaming list or the next page of the plan.
func (c *core) request(at stepTime) action {
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
	limit := c.cfg.PageSize
	if c.plan.onePage {
		limit = 0
	}
	if c.cont != "" {
		from = ""
	}
	return action{
		do: doList, version: from, exact: c.plan.exact && from != "", cont: c.cont, limit: limit, until: at.now.Add(listSilence),
	}
}

func (c *core) stepListing(at stepTime, in input) action {
	switch {
	case in.event == opened:
		c.open = true
		c.begin()
	case in.event == itemCame && c.open:
		paging.Item(&c.pages, in.entry.Key())
		c.listed(in.entry)
	case in.event == pageCame && c.open:
		return c.pageDone(at, in.version, in.cont)
	case in.event == ended:
		return c.listFailed(at, in.err)
	case in.event == timedOut:
		return c.listFailed(at, ErrStalled)
	default:
		return c.next
	}
	c.state.LastEvent = at.now
	return c.read(at.now.Add(listSilence))
}

func (c *core) pageDone(at stepTime, version, cont string) action {
	switch {
	case version == "":
		return c.listFailed(at, ErrNoVersion)
	case c.confirmOlder(version) && !c.plan.reset:
		return c.listOlder(at, version)
	case cont != "":
		if c.pages.Next(cont) != nil {
			return c.pagesEndless(at)
		}
		c.cont = cont
		return c.request(at)
	}
	if err := c.incomplete(); err != nil {
		if c.cfg.Namespace != "" && c.tally.namespaced == 0 && c.holds() && errors.Is(err, ErrNamespace) {
			c.markUnavailable(at, err) // the kind is cluster-scoped now: what is held is gone
		}
		return c.listFailed(at, err)
	}
	c.complete(at, version)
	if c.suspect > 1 {
		return c.watch(at, check)
	}
	return c.watch(at, long)
}

// pagesEndless gives up pages that do not end. After a backoff it asks for one page with all objects.
func (c *core) pagesEndless(at stepTime) action {
	c.abort()
	c.cont = ""
	c.plan.onePage, c.plan.paged = true, true
	return c.fail(at, "list", ErrEndless, listing, 0)
}

// listOlder rejects a list that is older than the sink. If the newest version was requested, the server
// itself went back: its next list resets the content. Else another server may have an older view, and
// a list of the newest version follows after a backoff.
func (c *core) listOlder(at stepTime, version string) action {
	if c.plan.newest {
		return c.list(at, c.wentBack(at, version))
	}
	c.abort()
	c.countBackward(at)
	c.plan, c.cont = plan{reason: whyOlderView, newest: true, paged: true}, ""
	return c.fail(at, "list", ErrOlder, listing, 0)
}

// listFailed decides what follows a list that failed to open, or to reach its end.
func (c *core) listFailed(at stepTime, err error) action {
	cause, wait := classify(err)
	if cause != notFound {
		c.missing.asked = false
	}
	if cause != notAPI {
		c.notAPIs = 0
	} else if c.notAPIs++; c.notAPIs >= maxNotAPI && c.state.HasSynced {
		c.markUnavailable(at, err)
	}
	next := c.plan
	switch {
	case cause == expired && c.cont != "" && !next.onePage:
		next.onePage, next.paged = true, true
		next.reason = listReason(next, whyListExpired)
		return c.list(at, next)
	case cause == expired && !next.newest:
		next.newest, next.reason = true, listReason(next, whyListExpired)
		return c.list(at, next)
	case cause == tooLarge && !next.newest:
		next.newest, next.reason = true, listReason(next, whyTooLarge)
		return c.list(at, next)
	case cause == refused && !next.newest && c.state.ResourceVersion != "":
		next.newest, next.reason = true, listReason(next, whyRefused)
		return c.list(at, next)
	case next.optional && cause != notFound && c.state.UnavailableSince.IsZero():
		return c.auditFailed(at, err)
	case cause == forbidden:
		c.abort()
		c.cont = ""
		return c.waitAbsent(at, Forbidden, "list", err, listing)
	case cause == unwatchable:
		c.abort()
		c.cont = ""
		return c.waitAbsent(at, c.failedPhase(), "list", err, listing)
	case cause == notFound && c.cont == "":
		return c.notServed(at, err)
	}
	if c.cont != "" && !c.open && cause != notFound {
		return c.fail(at, "list", err, listing, wait) // it retries the same page
	}
	c.abort()
	c.cont = ""
	return c.fail(at, "list", err, listing, wait)
}

// listReason returns r, or the reason of p for a first list, an audit, and a list that resets the content.
func listReason(p plan, r string) string {
	if p.reason == whyFirst || p.reason == whyAudited || p.reset {
		return p.reason
	}
	return r
}

func (c *core) begin() {
	if !c.replacing {
		c.replacing, c.pages, c.tally = true, paging.Guard{}, tally{}
		c.updates = append(c.updates, Update{What: Replace, Reset: c.plan.reset, Reason: c.plan.reason})
	}
}

func (c *core) abort() {
	if c.replacing {
		c.replacing = false
		c.updates = append(c.updates, Update{What: Discard})
	}
}

// finish makes the list the content of the sink.
func (c *core) finish(version string) {
	c.replacing = false
	u := Update{What: Sweep, Version: version}
	if c.plan.reason == whyAudited && !c.state.Unordered {
		u.Audited = c.state.ResourceVersion
	}
	c.updates = append(c.updates, u)
	c.state.ResourceVersion, c.serverVersion, c.lastTally = version, version, c.tally
	c.quickUseful = 0
	count(&c.state.Relists, c.plan.reason)
}

// complete records that a list is complete.
func (c *core) complete(at stepTime, version string) {
	c.finish(version)
	c.state.HasSynced, c.state.UnavailableSince = true, time.Time{}
	c.lossDecided(at)
	c.planAudit(at)
	c.state.AuditErr = nil
	c.plan, c.cont, c.missing = plan{}, "", missing{}
	c.probeWait.Reset()
	c.probeWait.Until = at.now.Add(c.cfg.Absent)
	c.markGood(at)
}

// put emits an update with an object. It reports a rejected object too.
func (c *core) put(what What, e *store.Entry) {
	if n := e.Key().Namespace; n != "" && c.cfg.Within != nil && !slices.Contains(c.cfg.Within, n) {
		c.updates = append(c.updates, Update{What: Outside, Entry: e})
		return
	}
	if err := e.Err(); err != nil {
		c.report(e, err)
	}
	c.updates = append(c.updates, Update{What: what, Entry: e})
}

// report emits an Unusable update. e may be nil.
func (c *core) report(e *store.Entry, err error) {
	u := Update{What: Unusable, ResourceVersion: c.state.ResourceVersion, Err: err}
	if e != nil {
		u.Key = e.Key()
		if v := e.ResourceVersion(); v != "" {
			u.ResourceVersion = v
		}
	}
	c.updates = append(c.updates, u)
}

// drawTimeout draws the timeout of a watch. A watch ends when an audit is due: it then has a bookmark of a version that
// the server still lists.
func (c *core) drawTimeout(at stepTime) time.Duration {
	span := c.cfg.MaxTimeout - c.cfg.MinTimeout
	timeout := c.cfg.MinTimeout + time.Duration(at.random*float64(max(span, 0)))
	if left := c.auditAt.Sub(at.now); left > 0 && left < timeout {
		timeout = max(left, minLastWatch)
	}
	return timeout
}
