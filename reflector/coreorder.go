package reflector

import (
	"time"

	"github.com/flyball-io/flyball/object"
)

const (
	maxBackward    = 2         // how often the server seems to go back, until its events are unordered
	backwardMemory = time.Hour // the count of backward starts anew after this time
)

// older reports whether the server's own version is certainly older than before. If events are unordered,
// it compares with the server's own versions only, not with those of events.
func (c *core) older(version string) bool {
	if c.state.Unordered {
		return before(version, c.serverVersion)
	}
	return before(version, c.state.ResourceVersion)
}

func before(version, than string) bool {
	order, ok := object.CompareVersions(version, than)
	return ok && order < 0
}

// watchOlder ends a watch that goes back in time. A list of the newest version decides.
func (c *core) watchOlder(at stepTime) action {
	c.countBackward(at)
	c.plan = plan{reason: whyOlderView, newest: true, paged: true}
	return c.fail(at, "watch", ErrOlder, listing, 0)
}

func (c *core) countBackward(at stepTime) {
	if at.now.Sub(c.backwardAt) > backwardMemory {
		c.backward = 0
	}
	c.backward++
	c.backwardAt = at.now
}

// confirmOlder reports whether the version of a list shows that the server went back.
//
// If only the versions of events went back, and repeatedly, the events are unordered. The server counts versions
// for each object, or sends events in no order. From then on only versions of the same object are compared.
func (c *core) confirmOlder(version string) bool {
	if c.backward >= maxBackward && !before(version, c.serverVersion) {
		c.state.Unordered = true
	}
	return c.older(version)
}

// wentBack returns the plan for a server that went back in time.
func (c *core) wentBack(at stepTime, version string) plan {
	if before(version, c.serverVersion) {
		c.state.Unordered, c.backward = false, 0
	} else if c.plan.reason != whyOlderView {
		c.countBackward(at) // only events were newer; watchOlder and listOlder have counted the others
	}
	return plan{reason: whyWentBack, newest: true, paged: true, reset: true}
}
