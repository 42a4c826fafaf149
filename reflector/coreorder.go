package reflector

import (
	"time"

	"github.com/flyball-io/flyball/object"
)

const (
	maxBackward    = 2         // times that a server may seem to go back, until its events are taken as they come
	backwardMemory = time.Hour // after which such a time does not count any more
)

// older reports whether a version that the server gives of itself is certainly older than what it
// showed before. Where events are in no order, it is compared with such versions only.
func (c *Core) older(version string) bool {
	if c.state.Unordered {
		return before(version, c.shown)
	}
	return before(version, c.state.ResourceVersion)
}

func before(version, than string) bool {
	order, ok := object.CompareVersions(version, than)
	return ok && order < 0
}

// sawOlder deals with a stream that goes back in time: what is newest decides.
func (c *Core) sawOlder(at moment) Action {
	c.countBackward(at)
	c.plan = plan{reason: OlderView, newest: true, paged: true}
	return c.fail(at, "watch", ErrOlder, listing, 0)
}

func (c *Core) countBackward(at moment) {
	if at.now.Sub(c.backwardAt) > backwardMemory {
		c.backward = 0
	}
	c.backward++
	c.backwardAt = at.now
}

// isOlder reports whether the server, whose version this is, is older than it was.
//
// If events went back repeatedly, and the server's own version did not, the server counts versions
// for each object, or sends events in no order. From then on they are taken as they come.
func (c *Core) isOlder(version string) bool {
	if c.backward >= maxBackward && !before(version, c.shown) {
		c.state.Unordered = true
	}
	return c.older(version)
}

// wentBack is the plan for a server that is older than it was.
func (c *Core) wentBack(at moment, version string) plan {
	if before(version, c.shown) {
		c.state.Unordered, c.backward = false, 0
	} else if c.plan.reason != OlderView {
		c.countBackward(at) // only events were newer; it was counted where that was seen
	}
	return plan{reason: WentBack, newest: true, paged: true, reset: true}
}
