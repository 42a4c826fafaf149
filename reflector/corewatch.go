package reflector

import "time"

// watch opens a watch at the version of the sink.
func (c *Core) watch(at moment, s style) Action {
	c.mode, c.open, c.style = watching, false, s
	switch s {
	case brief:
		c.timeout = c.cfg.Silence - time.Duration(at.random*float64(c.cfg.Silence/5))
	case check:
		c.timeout = checkTime
	default:
		c.timeout = c.drawTimeout(at)
	}
	return Action{Do: Watch, Version: c.state.ResourceVersion, Timeout: c.timeout, Until: at.now.Add(answer)}
}

func (c *Core) openWatch(at moment, s style) {
	c.open, c.opened, c.style = true, at.now, s
	c.frames, c.objects, c.from = 0, 0, c.state.ResourceVersion
}

// silentAt is when the open watch counts as silent if nothing comes until then. A watch that was
// to get a bookmark must have ended by itself. After several breaks that may have hidden something
// it is only the time that a watch takes to prove itself, so that a quiet kind is synced soon.
func (c *Core) silentAt(at moment) time.Time {
	if proof := c.opened.Add(quickWatch); c.doubt > 1 && at.now.Before(proof) {
		return proof
	}
	end := c.opened.Add(c.timeout + answer)
	if c.style == long && c.cfg.Silence > 0 {
		if silent := at.now.Add(c.cfg.Silence); silent.Before(end) {
			return silent
		}
	}
	return end
}

func (c *Core) stepWatching(at moment, in Input) Action {
	switch in.Event {
	case Opened:
		c.openWatch(at, c.style)
		c.good(at)
		return c.read(c.silentAt(at))
	case Added, Modified, Deleted:
		if !c.open {
			return c.next
		}
		return c.change(at, in)
	case Bookmark:
		if !c.open {
			return c.next
		}
		return c.bookmark(at, in)
	case End:
		if in.Err == nil {
			return c.watchEnded(at)
		}
		return c.watchFailed(at, in.Err)
	case Timer:
		return c.watchSilent(at)
	}
	return c.next
}

func (c *Core) change(at moment, in Input) Action {
	version := in.Entry.ResourceVersion()
	if err := c.hidden(in.Entry); err != nil {
		c.report(in.Entry, err)
		return c.doubtful(at, err, plan{reason: Unplaced, newest: true})
	}
	if version != "" && !c.state.Unordered && c.older(version) {
		return c.sawOlder(at)
	}
	op := Upsert
	if in.Event == Deleted {
		op = Delete
	}
	c.put(op, in.Entry)
	c.objects++
	c.heard(at, version)
	return c.read(c.silentAt(at))
}

// bookmark takes the version of one. One that cannot be read hides nothing.
func (c *Core) bookmark(at moment, in Input) Action {
	version := in.Version
	switch {
	case in.Err != nil:
		c.report(nil, in.Err)
		version = ""
	case version == "":
	case !c.older(version):
		c.shown = version
	case !c.state.Unordered:
		return c.sawOlder(at)
	case at.now.Before(c.probeAt):
		version = ""
	default:
		return c.probe(at)
	}
	c.heard(at, version)
	return c.read(c.silentAt(at))
}

func (c *Core) heard(at moment, version string) {
	c.frames++
	if version != "" && version != c.state.ResourceVersion {
		c.heardOf(at)
	}
	c.proven(at)
	if at.now.Sub(c.opened) >= quickWatch {
		c.expired = 0
	}
	c.state.LastEvent = at.now
	if version != "" {
		c.state.ResourceVersion = version
	}
}

// watchEnded is the regular end of a watch.
func (c *Core) watchEnded(at moment) Action {
	count(&c.state.Restarts, Ended)
	c.proven(at)
	if c.ranLong(at) {
		return c.again(at)
	}
	c.quick++
	switch {
	case c.frames == 0, c.quick >= maxQuick && !c.advanced():
		return c.fail(at, "watch", ErrQuick, watching, 0)
	case c.quick >= maxQuick:
		return c.hurry(at, long)
	}
	return c.again(at)
}

// ranLong reports whether the watch that ends was open for long enough to be no quick one.
func (c *Core) ranLong(at moment) bool {
	long := at.now.Sub(c.opened) >= quickWatch
	if long {
		c.quick, c.hurried, c.patience = 0, 0, 0
	}
	return long
}

// advanced reports whether the watch that ends has brought something new.
func (c *Core) advanced() bool { return c.objects > 0 && c.state.ResourceVersion != c.from }

// hurry goes on after a watch that ended at once and brought something new: at a steady pace, however
// often that happens. A list brings all that is still to come now and then.
func (c *Core) hurry(at moment, s style) Action {
	if c.hurried++; c.hurried >= max(c.patience, minHurry) {
		c.patience = min(2*max(c.patience, minHurry), maxHurry)
		return c.list(at, plan{reason: Behind})
	}
	c.style = s
	return c.pause(at, watching, pace+time.Duration((at.random-0.5)*float64(pace)/2))
}

// watchSilent is a watch that nothing came on, or that could not be opened in time.
func (c *Core) watchSilent(at moment) Action {
	if !c.open {
		return c.watchFailed(at, ErrStalled)
	}
	count(&c.state.Restarts, Silent)
	if c.doubt > 1 {
		c.proven(at)
		return c.watch(at, long)
	}
	c.proven(at)
	if c.style == long && c.cfg.Silence > 0 {
		return c.watch(at, brief)
	}
	return c.again(at)
}

// again opens the next watch after one that did not fail. As long as only bookmarks come the
// watches are brief, so that each yields one. If not even a bookmark came, or none that is newer, the
// version may be one that the server does not know: it is asked for its own.
func (c *Core) again(at moment) Action {
	if c.style == long || c.objects > 0 || c.cfg.Silence < 0 {
		return c.watch(at, long)
	}
	stood := c.frames == 0 || c.state.ResourceVersion == c.from // no bookmark brought it on
	if stood && c.deaf.due(at.now) {
		return c.relistDeaf(at)
	}
	if !stood || at.now.Before(c.probeAt) {
		return c.watch(at, brief)
	}
	return c.probe(at)
}

func (c *Core) probe(at moment) Action {
	c.mode, c.open = probing, false
	return Action{Do: Probe, Limit: 1, Until: at.now.Add(answer)}
}

// watchFailed is the ladder for a watch that was refused, broke, or carried an ERROR frame.
func (c *Core) watchFailed(at moment, err error) Action {
	cause, wait := classify(err)
	wasOpen := c.open
	c.open = false
	if _, ok := statusOf(err); ok && wasOpen && cause == broken && !cut(err) {
		cause = server // an ERROR frame that says nothing that is known
	}
	if wasOpen && c.advanced() && (cause == broken || cause == server || cause == garbage) {
		c.failures = min(c.failures, 1)
		if !c.ranLong(at) && cause != garbage {
			if c.quick++; c.quick >= maxQuick {
				count(&c.state.Restarts, restart(cause))
				return c.hurry(at, check)
			}
		}
	}
	if c.stuckAt != c.state.ResourceVersion {
		c.stuckAt, c.stuck = c.state.ResourceVersion, 0
	}
	switch cause {
	case expired:
		// If it happens again right after the list, that was too old as well.
		p := plan{reason: Expired, newest: c.expired >= 2}
		if c.expired++; c.expired == 1 {
			return c.list(at, p)
		}
		c.plan = p
		return c.fail(at, "watch", err, listing, wait)
	case unreadable:
		return c.doubtful(at, err, plan{reason: Unreadable, newest: true})
	case forbidden:
		return c.absent(at, Forbidden, "watch", err, watching)
	case stranger:
		if c.strange++; c.strange >= maxStrange { // a list tells what the server is
			c.plan = plan{reason: Refused}
			return c.fail(at, "watch", err, listing, wait)
		}
		count(&c.state.Restarts, Broken)
	case notFound, refused:
		c.plan = plan{reason: Refused}
		return c.fail(at, "watch", err, listing, wait)
	case tooLarge:
		// A server that is behind catches up. If this one does not, what is newest decides.
		if c.stuck++; c.stuck >= 3 {
			c.stuck = 0
			c.plan = plan{reason: TooLarge, newest: true}
			return c.fail(at, "watch", err, listing, wait)
		}
		count(&c.state.Restarts, Failed)
	case garbage:
		c.report(nil, err)
		c.doubt++
		if c.stuck++; c.stuck >= 2 {
			return c.relistStuck(at, Garbage, err)
		}
		count(&c.state.Restarts, Mangled)
	case busy:
		count(&c.state.Restarts, Busy)
		return c.fail(at, "watch", err, watching, wait)
	case server:
		if wasOpen {
			c.stuck++
		}
		if c.stuck >= 4 {
			return c.relistStuck(at, Errors, err)
		}
		count(&c.state.Restarts, restart(cause))
	default:
		count(&c.state.Restarts, restart(cause))
	}
	c.style = check
	c.probeAt, c.probeGap = at.now, 0
	return c.fail(at, "watch", err, watching, wait)
}

// restart is the reason for the next watch after one that the server ended with an error, or that broke.
func restart(c cause) Reason {
	if c == server {
		return Failed
	}
	return Broken
}

// relistStuck gives up on a stream that cannot be read on at this version.
func (c *Core) relistStuck(at moment, why Reason, err error) Action {
	c.stuck = 0
	c.plan = plan{reason: why}
	return c.fail(at, "watch", err, listing, 0)
}

// stepProbing asks the server for its version, without content.
func (c *Core) stepProbing(at moment, in Input) Action {
	switch in.Event {
	case Opened:
		c.open = true
		return c.read(at.now.Add(answer))
	case PageDone:
		c.state.Probes++
		if in.Version != "" {
			if c.isOlder(in.Version) {
				return c.list(at, c.wentBack(at, in.Version))
			}
			c.shown = in.Version
		}
		c.deaf.probed(in.Version, c.state.ResourceVersion)
		if c.deaf.proven && c.deaf.ahead {
			return c.relistDeaf(at)
		}
		c.state.LastEvent = at.now
		c.probeGap = min(max(2*c.probeGap, c.cfg.Absent), max(maxProbe, c.cfg.Absent))
		c.probeAt = at.now.Add(c.probeGap)
		return c.watch(at, brief)
	case End:
		if cause, _ := classify(in.Err); cause == forbidden || cause == notFound {
			// The watch will tell, if it is true for it as well.
			c.probeAt = at.now.Add(maxProbe)
			return c.watch(at, brief)
		}
		return c.watchFailed(at, in.Err)
	case Timer:
		return c.watchFailed(at, ErrStalled)
	}
	return c.next
}
