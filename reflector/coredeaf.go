package reflector

import (
	"errors"
	"time"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// ErrDeaf says that the watch is open and shows nothing, while a list showed objects that have changed
// since the version it was opened at.
var ErrDeaf = errors.New("the watch does not show what has changed")

const (
	minDeafGap = 10 * time.Minute
	maxDeafGap = time.Hour
)

// deafness is what the Core knows of watches that may not show what they should. That the server has
// a newer version proves nothing: the version is that of all kinds, and some servers send no
// bookmarks. A list decides.
type deafness struct {
	ahead  bool          // a probe showed a newer version, and nothing has come since
	proven bool          // a list had what the watch should have shown
	lost   int           // objects of the present list that are newer than the sink
	next   time.Time     // no list before this, unless it is proven
	gap    time.Duration // between lists that found nothing
}

// probed notes what version a probe showed.
func (d *deafness) probed(version, ours string) {
	order, ok := object.CompareVersions(version, ours)
	d.ahead = version != "" && ours != "" && (ok && order > 0 || !ok && version != ours)
}

// due reports whether a list has to decide now.
func (d *deafness) due(now time.Time) bool {
	return d.ahead && (d.proven || !now.Before(d.next))
}

// missed counts an object of a list that a watch should have shown.
func (c *Core) missed(e *store.Entry) {
	if c.plan.reason == Deaf && c.state.ResourceVersion != "" {
		order, ok := object.CompareVersions(e.ResourceVersion(), c.state.ResourceVersion)
		if ok && order > 0 {
			c.deaf.lost++
		}
	}
}

// relistDeaf has a list decide whether the watch is deaf. As long as that is proven content is listed
// as often as it is found out, some once a minute.
func (c *Core) relistDeaf(at moment) Action {
	d := &c.deaf
	d.ahead, d.lost = false, 0
	if d.proven {
		c.another(at)
		c.bad(at, c.failed(), "watch", ErrDeaf)
	}
	return c.list(at, plan{reason: Deaf, newest: true, paged: true})
}

// decided takes the verdict of a list that is complete.
func (c *Core) decided(at moment) {
	d := &c.deaf
	if c.plan.reason != Deaf {
		return
	}
	if d.lost > 0 {
		if !d.proven {
			c.another(at)
		}
		d.proven, d.gap = true, 0
		c.bad(at, c.failed(), "watch", ErrDeaf)
		return
	}
	d.gap = min(max(2*d.gap, minDeafGap), maxDeafGap)
	d.next = at.now.Add(d.gap)
}

// heardOf ends the suspicion: the watch has shown something new.
func (c *Core) heardOf(at moment) {
	if was := c.deaf.proven; was || c.deaf.ahead {
		c.deaf.ahead, c.deaf.proven = false, false
		if was {
			c.good(at)
		}
	}
}
