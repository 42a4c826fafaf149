package workqueue

import "time"

// limits say when a core does what costs a little now for a gain later. Tests lower them.
type limits struct {
	far  int   // from that many keys on the table is too large for the nearest caches of the CPU
	keep int   // room for so many entries is always kept
	trim int64 // how often it is looked whether there is too much room
}

var usual = limits{far: 4096, keep: 1024, trim: int64(time.Minute)}

// look trims a core that has room for far more than it needed since the last look. A core that
// becomes empty does without it.
func (c *Core[K, V]) look() {
	c.lookAt = later(c.latest, c.limits.trim)
	if room, used := c.room(), c.used; room > c.limits.keep && room > 4*c.peak && room > 16*used {
		c.trim()
	}
	c.peak = c.used
}

// trim moves every entry to one of the lowest numbers, and lets go of the room behind them.
func (c *Core[K, V]) trim() {
	used := number(c.used)
	hole := number(1)
	for n := used + 1; n < c.fresh; n++ {
		if !c.node(n).known {
			continue
		}
		for c.node(hole).known {
			hole++
		}
		c.move(n, hole)
	}
	c.ready.cut(c.nodes) // looks at numbers that are no more in use: they must still have nodes
	c.delayed.cut(used)
	c.cut(used)
}

// move gives the entry from the free number to.
func (c *Core[K, V]) move(from, to number) {
	e, d := c.node(to), c.cell(to)
	*e, *d = *c.node(from), *c.cell(from)
	*c.node(from), *c.cell(from) = node{}, cell[K, V]{}
	switch {
	case e.inFlight:
		c.running.rename(c.nodes, to)
	case e.place == isReady:
		c.ready.rename(c.nodes, to)
	}
	c.reruns.rename(from, to)
	if e.place == isDelayed {
		c.delayed.rename(from, to)
	}
	if e.backedOff {
		c.backoffs[to] = c.backoffs[from]
		delete(c.backoffs, from)
	}
}
