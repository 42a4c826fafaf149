package reflector

import (
	"errors"
	"io"
	"net"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/wire"
)

// streams reports whether the next list is a streaming one.
func (c *core) streams(at stepTime) bool {
	return !c.cfg.Paged && !c.plan.paged && c.cont == "" && !at.now.Before(c.streamWait.Until)
}

func (c *core) stream(at stepTime, from string) action {
	c.mode = streaming
	c.timeout = c.drawTimeout(at)
	return action{do: doWatch, initial: true, version: from, timeout: c.timeout, until: at.now.Add(streamAnswer)}
}

func (c *core) stepStreaming(at stepTime, in input) action {
	switch in.event {
	case opened:
		c.openWatch(at, long)
		c.until = at.now.Add(c.cfg.InitialEvents)
		c.begin()
	case frameCame:
		switch {
		case !c.open:
			return c.next
		case in.what == wire.Bookmark && in.err != nil:
			c.report(nil, in.err)
			return c.streamFailed(at, in.err)
		case in.what == wire.Bookmark && in.initialEnd:
			return c.streamDone(at, in.version)
		case in.what == wire.Bookmark:
		default:
			if err := c.streamed(at, in); err != nil {
				c.report(in.entry, err)
				return c.streamFailed(at, err)
			}
		}
	case ended:
		err := in.err
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return c.streamFailed(at, err)
	case timedOut:
		return c.streamFailed(at, ErrStalled)
	default:
		return c.next
	}
	c.state.LastEvent = at.now
	return c.read(c.until)
}

// streamed takes an object of a streaming list. The error says why its key is unusable.
func (c *core) streamed(at stepTime, in input) error {
	if in.what == wire.Added {
		c.until = at.now.Add(c.cfg.InitialEvents)
		if last := c.opened.Add(10 * c.cfg.InitialEvents); c.until.After(last) {
			c.until = last
		}
	}
	if err := c.keyError(in.entry); err != nil {
		return err
	}
	if in.what == wire.Deleted {
		c.put(Delete, in.entry)
	} else {
		c.listed(in.entry)
	}
	return nil
}

// streamDone follows the end of the initial events. The same stream goes on as the watch.
func (c *core) streamDone(at stepTime, version string) action {
	switch {
	case version == "":
		return c.streamFailed(at, ErrNoVersion)
	case c.confirmOlder(version):
		return c.listOlder(at, version)
	}
	if err := c.incomplete(); err != nil {
		return c.streamFailed(at, err)
	}
	c.streamWait.Reset()
	c.streamFailures, c.state.NoStream = 0, false
	c.complete(at, version)
	c.mode, c.heard = watching, at.now
	c.frames++
	return c.read(c.silentAt(at))
}

// streamFailed falls back to pages at once, since a paged list may succeed. A later list streams again.
//
// Some failures concern both forms of list, and do not stop streaming. One is a kind that discovery does not
// know. Others do not stop it the first time: a server that is unreachable, asks for a pause, or lacks the
// version. A 403 stops streaming: a role may allow lists but no watches, and a proxy may refuse a streaming
// list.
func (c *core) streamFailed(at stepTime, err error) action {
	cause, wait := classify(err)
	if meta.IsNoMatchError(err) {
		return c.listFailed(at, err)
	}
	c.streamFailures++
	both := cause == busy || cause == expired || cause == tooLarge || unreached(err)
	if both && c.streamFailures < maxStreams {
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

// stopStreaming delays the next streaming list. The delay doubles with each one that fails. For a server that
// does not know streaming lists it is the longest.
func (c *core) stopStreaming(at stepTime, unknown bool) {
	c.streamWait.Fail(at.now)
	if unknown {
		c.streamWait.Until = at.now.Add(c.streamWait.Policy.Max)
	}
	c.state.NoStream = true
}

// unreached reports whether the server was never connected.
func unreached(err error) bool {
	if e, ok := errors.AsType[*client.UnavailableError](err); ok {
		return e.Unsent && e.RetryAfter == 0
	}
	e, ok := errors.AsType[*net.OpError](err)
	return ok && e.Op == "dial"
}
