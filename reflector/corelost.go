package reflector

import (
	"errors"
	"time"

	"github.com/flyball-io/flyball/internal/backoff"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// ErrLostEvents says that an open watch has lost events. A list showed objects that changed after the version of
// the watch, and the watch showed none of them.
var ErrLostEvents = errors.New("the watch has lost events")

// lossCheck finds out whether the watch loses events. A newer version of the server proves nothing: all
// kinds share the version, and some servers send no bookmarks. So a list decides.
type lossCheck struct {
	ahead  bool            // a probe showed a newer version, and the watch has shown nothing since
	proven bool            // a list had objects that the watch did not show
	count  int             // objects of the present list that are newer than the sink
	wait   backoff.Backoff // until the next list after one that found no lost event, unless proven
}

// probed records the version that a probe showed.
func (d *lossCheck) probed(version, ours string) {
	order, ok := object.CompareVersions(version, ours)
	d.ahead = version != "" && ours != "" && (ok && order > 0 || !ok && version != ours)
}

// due reports whether a list is due.
func (d *lossCheck) due(now time.Time) bool {
	return d.ahead && (d.proven || !now.Before(d.wait.Until))
}

// countLost counts an object of a list if the watch should have shown it.
func (c *core) countLost(e *store.Entry) {
	if c.plan.reason == whyLost && c.state.ResourceVersion != "" {
		order, ok := object.CompareVersions(e.ResourceVersion(), c.state.ResourceVersion)
		if ok && order > 0 {
			c.loss.count++
		}
	}
}

// relistLost lists, to find out whether the watch has lost events. While that is proven, each probe with a newer
// version leads to a list: about one a minute.
func (c *core) relistLost(at stepTime) action {
	d := &c.loss
	d.ahead, d.count = false, 0
	if d.proven {
		c.countFailure(at)
		c.markBad(at, c.failedPhase(), "watch", ErrLostEvents)
	}
	return c.list(at, plan{reason: whyLost, newest: true, paged: true})
}

// lossDecided takes the result of a complete list of relistLost.
func (c *core) lossDecided(at stepTime) {
	d := &c.loss
	if c.plan.reason != whyLost {
		return
	}
	if d.count > 0 {
		if !d.proven {
			c.countFailure(at)
		}
		d.proven = true
		d.wait.Reset()
		c.markBad(at, c.failedPhase(), "watch", ErrLostEvents)
		return
	}
	d.wait.Fail(at.now)
}

// lossRefuted ends the suspicion. The watch has shown a newer version.
func (c *core) lossRefuted(at stepTime) {
	if was := c.loss.proven; was || c.loss.ahead {
		c.loss.ahead, c.loss.proven = false, false
		if was {
			c.markGood(at)
		}
	}
}
