package reflector

import (
	"errors"
	"io"
	"net"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/flyball-io/flyball/client"
)

// streams reports whether the next list is a streaming one.
func (c *Core) streams(at moment) bool {
	return !c.cfg.Paged && !c.plan.paged && c.cont == "" && !at.now.Before(c.streamAt)
}

func (c *Core) stream(at moment, from string) Action {
	c.mode = streaming
	c.timeout = c.drawTimeout(at)
	wait := streamAnswer
	if c.cfg.Stall > 0 {
		wait = min(wait, c.cfg.Stall)
	}
	return Action{Do: Watch, Initial: true, Version: from, Timeout: c.timeout, Until: at.now.Add(wait)}
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
		if err := c.misplaced(in.Entry); err != nil {
			c.report(in.Entry, err)
			return c.streamFailed(at, err)
		}
		if in.Event == Deleted {
			c.put(Delete, in.Entry)
		} else {
			c.listed(in.Entry)
		}
	case Bookmark:
		if c.open && in.Err != nil {
			c.report(nil, in.Err)
			return c.streamFailed(at, in.Err)
		}
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
	case c.isOlder(version):
		return c.listOlder(at, version)
	}
	if err := c.incomplete(); err != nil {
		return c.streamFailed(at, err)
	}
	c.unstreamed, c.streamAt, c.streamGap, c.state.NoStream = 0, time.Time{}, 0, false
	c.complete(at, version)
	c.mode = watching
	c.frames++
	return c.read(c.silentAt(at))
}

// streamFailed goes over to pages at once: whatever keeps a streaming list from its end, the plain
// one may come through. Streaming lists are tried again later.
//
// What concerns both forms alike is not held against the streaming one: that the kind is unknown to
// discovery, and, once, a server that cannot be reached, asks for a pause, or does not have the version.
// A 403 may: a role can allow lists and no watches, and a server between may refuse what it does not
// know.
func (c *Core) streamFailed(at moment, err error) Action {
	cause, wait := classify(err)
	if meta.IsNoMatchError(err) {
		return c.listFailed(at, err)
	}
	c.unstreamed++
	alike := cause == busy || cause == expired || cause == tooLarge || unreached(err)
	if alike && c.unstreamed < maxStreams {
		return c.listFailed(at, err)
	}
	c.stopStreaming(at, cause == refused && !c.open)
	c.plan.paged = true
	if wait > 0 || cause == busy || unreached(err) {
		c.abort()
		return c.fail(at, "list", err, listing, wait)
	}
	return c.list(at, c.plan)
}

// stopStreaming keeps streaming lists back for a while, which doubles with each that fails. A server
// that does not know them is asked again after the longest.
func (c *Core) stopStreaming(at moment, unknown bool) {
	c.streamGap = min(max(2*c.streamGap, minStreamGap), maxStreamGap)
	if unknown {
		c.streamGap = maxStreamGap
	}
	c.streamAt = at.now.Add(c.streamGap)
	c.state.NoStream = true
}

// unreached reports whether no connection was made.
func unreached(err error) bool {
	if e, ok := errors.AsType[*client.UnavailableError](err); ok {
		return e.Unsent && e.RetryAfter == 0
	}
	e, ok := errors.AsType[*net.OpError](err)
	return ok && e.Op == "dial"
}
