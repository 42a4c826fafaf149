package reflector

import (
	"time"

	"github.com/flyball-io/flyball/internal/wire"
)

// watch opens a watch at the version of the sink.
func (c *core) watch(at stepTime, s style) action {
	c.mode, c.open, c.style = watching, false, s
	switch s {
	case brief:
		c.timeout = c.cfg.Silence - time.Duration(at.random*float64(c.cfg.Silence/5))
	case check:
		c.timeout = checkTime/2 + time.Duration(at.random*float64(checkTime))
	default:
		c.timeout = c.drawTimeout(at)
	}
	return action{do: doWatch, version: c.state.ResourceVersion, timeout: c.timeout, until: at.now.Add(answer)}
}

func (c *core) openWatch(at stepTime, s style) {
	c.open, c.opened, c.heard, c.style = true, at.now, at.now, s
	c.frames, c.objects, c.from = 0, 0, c.state.ResourceVersion
}

// silentAt is the deadline of the next object or newer version: without one the watch is silent. Bookmarks of the
// same version prove that the connection lives, not that events come. A watch that is not long must end by
// itself before. After two watches that may have lost events the first deadline is quickWatch: a watch
// that is open for so long works, even without a frame.
func (c *core) silentAt(at stepTime) time.Time {
	if proof := c.opened.Add(quickWatch); c.suspect > 1 && at.now.Before(proof) {
		return proof
	}
	end := c.opened.Add(c.timeout + answer)
	if late := c.auditAt.Add(minLastWatch); !c.auditAt.IsZero() && c.suspect == 0 && !c.loss.proven && late.Before(end) {
		end = late // the watch began as a streaming list, or the server ends no watch
	}
	if c.style == long && c.cfg.Silence > 0 {
		if silent := c.heard.Add(c.cfg.Silence); silent.Before(end) {
			return silent
		}
	}
	return end
}

func (c *core) stepWatching(at stepTime, in input) action {
	switch in.event {
	case opened:
		c.openWatch(at, c.style)
		c.markGood(at)
		return c.read(c.silentAt(at))
	case frameCame:
		switch {
		case !c.open:
			return c.next
		case in.what == wire.Bookmark:
			return c.bookmark(at, in)
		}
		return c.change(at, in)
	case ended:
		if in.err == nil {
			return c.watchEnded(at)
		}
		return c.watchFailed(at, in.err)
	case timedOut:
		return c.watchSilent(at)
	}
	return c.next
}

func (c *core) change(at stepTime, in input) action {
	version := in.entry.ResourceVersion()
	if err := c.eventKeyError(in.entry); err != nil {
		c.report(in.entry, err)
		return c.relistSuspect(at, err, plan{reason: whyUnplaced, newest: true})
	}
	if version != "" && !c.state.Unordered && c.older(version) {
		return c.watchOlder(at)
	}
	what := Put
	if in.what == wire.Deleted {
		what = Delete
	}
	c.put(what, in.entry)
	c.objects++
	c.heard = at.now
	c.received(at, version)
	return c.read(c.silentAt(at))
}

// bookmark takes the version of a bookmark. An unreadable bookmark loses no event.
func (c *core) bookmark(at stepTime, in input) action {
	version := in.version
	switch {
	case in.err != nil:
		c.report(nil, in.err)
		version = ""
	case version == "":
	case !c.older(version):
		c.serverVersion = version
	case !c.state.Unordered:
		return c.watchOlder(at)
	case at.now.Before(c.probeWait.Until):
		version = ""
	default:
		return c.probe(at)
	}
	c.received(at, version)
	return c.read(c.silentAt(at))
}

func (c *core) received(at stepTime, version string) {
	c.frames++
	if version != "" && version != c.state.ResourceVersion {
		c.heard = at.now
		c.lossRefuted(at)
	}
	c.confirmWatch(at)
	if at.now.Sub(c.opened) >= quickWatch {
		c.expired = 0
	}
	c.state.LastEvent = at.now
	if version != "" {
		c.state.ResourceVersion = version
	}
}

// watchEnded follows the regular end of a watch.
func (c *core) watchEnded(at stepTime) action {
	count(&c.state.Restarts, whyEnded)
	c.confirmWatch(at)
	if c.ranLong(at) {
		return c.nextWatch(at)
	}
	c.quick++
	switch {
	case c.frames == 0, c.quick >= maxQuick && !c.advanced():
		return c.fail(at, "watch", ErrQuick, watching, 0)
	case c.quick >= maxQuick:
		return c.resumeQuick(at, long)
	}
	return c.nextWatch(at)
}

// ranLong reports whether the watch was open for quickWatch. If so, it resets the counts of quick watches.
func (c *core) ranLong(at stepTime) bool {
	long := at.now.Sub(c.opened) >= quickWatch
	if long {
		c.quick, c.quickUseful, c.quickLimit = 0, 0, 0
	}
	return long
}

// advanced reports whether the watch brought new events.
func (c *core) advanced() bool { return c.objects > 0 && c.state.ResourceVersion != c.from }

// resumeQuick resumes after a quick watch with new events. The wait is about quickPause, and does not grow.
// After quickLimit such watches a list catches up.
func (c *core) resumeQuick(at stepTime, s style) action {
	if c.quickUseful++; c.quickUseful >= max(c.quickLimit, minQuickLimit) {
		c.quickLimit = min(2*max(c.quickLimit, minQuickLimit), maxQuickLimit)
		return c.list(at, plan{reason: whyBehind})
	}
	c.style = s
	return c.pause(at, watching, quickPause+time.Duration((at.random-0.5)*float64(quickPause)/2))
}

// watchSilent follows a watch without a frame in time, and one that did not open in time.
func (c *core) watchSilent(at stepTime) action {
	if !c.open {
		return c.watchFailed(at, ErrStalled)
	}
	if c.auditDue(at) {
		return c.audit(at)
	}
	count(&c.state.Restarts, whySilent)
	if c.suspect > 1 {
		c.confirmWatch(at)
		return c.watch(at, long)
	}
	c.confirmWatch(at)
	if c.style == long && c.cfg.Silence > 0 {
		return c.watch(at, brief)
	}
	return c.nextWatch(at)
}

// nextWatch opens the next watch after one that did not fail. While only bookmarks come, watches are brief:
// each of them gets a bookmark. If no newer bookmark came, the server may not know the version. Then a
// probe asks for the server's own version. If an audit is due, it comes first.
func (c *core) nextWatch(at stepTime) action {
	if c.auditDue(at) {
		return c.audit(at)
	}
	if c.style == long || c.objects > 0 || c.cfg.Silence < 0 {
		return c.watch(at, long)
	}
	stood := c.frames == 0 || c.state.ResourceVersion == c.from // no bookmark had a newer version
	if stood && c.loss.due(at.now) {
		return c.relistLost(at)
	}
	if !stood || at.now.Before(c.probeWait.Until) {
		return c.watch(at, brief)
	}
	return c.probe(at)
}

func (c *core) probe(at stepTime) action {
	c.mode, c.open = probing, false
	return action{do: doProbe, limit: 1, until: at.now.Add(answer)}
}

// watchFailed decides what follows a watch that was refused, broke, or got an ERROR frame.
func (c *core) watchFailed(at stepTime, err error) action {
	cause, wait := classify(err)
	wasOpen := c.open
	c.open = false
	if _, ok := statusOf(err); ok && wasOpen && cause == broken && !cut(err) {
		cause = server // an ERROR frame of no known kind
	}
	if wasOpen && c.advanced() && (cause == broken || cause == server || cause == garbage) {
		c.failures = min(c.failures, 1)
		if !c.ranLong(at) && cause != garbage {
			if c.quick++; c.quick >= maxQuick {
				count(&c.state.Restarts, restart(cause))
				return c.resumeQuick(at, check)
			}
		}
	}
	if c.stuckAt != c.state.ResourceVersion {
		c.stuckAt, c.stuck = c.state.ResourceVersion, 0
	}
	switch cause {
	case expired:
		// After two in a row even the version of a list was too old: from the third on, list the newest.
		p := plan{reason: whyExpired, newest: c.expired >= 2}
		if c.expired++; c.expired == 1 {
			return c.list(at, p)
		}
		c.plan = p
		return c.fail(at, "watch", err, listing, wait)
	case unreadable:
		return c.relistSuspect(at, err, plan{reason: whyUnreadable, newest: true})
	case forbidden:
		return c.waitAbsent(at, Forbidden, "watch", err, watching)
	case notAPI:
		if c.notAPIs++; c.notAPIs >= maxNotAPI { // a list shows whether this is an API server
			c.plan = plan{reason: whyRefused}
			return c.fail(at, "watch", err, listing, wait)
		}
		count(&c.state.Restarts, whyBroken)
	case notFound, refused:
		c.plan = plan{reason: whyRefused}
		return c.fail(at, "watch", err, listing, wait)
	case tooLarge:
		// A server that is behind catches up. If it does not, a list of the newest version decides.
		if c.stuck++; c.stuck >= 3 {
			c.stuck = 0
			c.plan = plan{reason: whyTooLarge, newest: true}
			return c.fail(at, "watch", err, listing, wait)
		}
		count(&c.state.Restarts, whyFailed)
	case garbage:
		c.report(nil, err)
		c.suspect++
		if c.stuck++; c.stuck >= 2 {
			return c.relistStuck(at, whyGarbage, err)
		}
		count(&c.state.Restarts, whyMangled)
	case busy:
		count(&c.state.Restarts, whyBusy)
		return c.fail(at, "watch", err, watching, wait)
	case server:
		if wasOpen {
			c.stuck++
		}
		if c.stuck >= 4 {
			return c.relistStuck(at, whyErrors, err)
		}
		count(&c.state.Restarts, restart(cause))
	default:
		count(&c.state.Restarts, restart(cause))
	}
	c.style = check
	c.probeWait.Reset()
	return c.fail(at, "watch", err, watching, wait)
}

// restart returns the reason to resume after a watch that broke or that the server ended with an error.
func restart(c cause) string {
	if c == server {
		return whyFailed
	}
	return whyBroken
}

// relistStuck lists, since the stream cannot be read on at this version.
func (c *core) relistStuck(at stepTime, why string, err error) action {
	c.stuck = 0
	c.plan = plan{reason: why}
	return c.fail(at, "watch", err, listing, 0)
}

// stepProbing takes the answer to a probe, which asks for the server's version only.
func (c *core) stepProbing(at stepTime, in input) action {
	switch in.event {
	case opened:
		c.open = true
		return c.read(at.now.Add(answer))
	case pageCame:
		c.state.Probes++
		if in.version != "" {
			if c.confirmOlder(in.version) {
				return c.list(at, c.wentBack(at, in.version))
			}
			c.serverVersion = in.version
		}
		c.loss.probed(in.version, c.state.ResourceVersion)
		if c.loss.proven && c.loss.ahead {
			return c.relistLost(at)
		}
		c.state.LastEvent = at.now
		c.probeWait.Fail(at.now)
		return c.watch(at, brief)
	case ended:
		if cause, _ := classify(in.err); cause == forbidden || cause == notFound {
			// If the watch fails alike, it reports that itself.
			c.probeWait.Until = at.now.Add(maxProbe)
			return c.watch(at, brief)
		}
		return c.watchFailed(at, in.err)
	case timedOut:
		return c.watchFailed(at, ErrStalled)
	}
	return c.next
}
