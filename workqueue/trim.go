package workqueue

import "time"

// limits are the sizes at which a core spends work now to save work or memory later. Tests lower
// them.
type limits struct {
	far  int   // number of keys from which the table exceeds the near caches of the CPU
	keep int   // number of entries whose memory is never freed
	trim int64 // nanoseconds between two checks for too much memory
}

var defaultLimits = limits{far: 4096, keep: 1024, trim: int64(time.Minute)}

// checkMemory trims a core that holds far more memory than it needed since the last look. A core
// that becomes empty frees memory in release instead.
func (c *Core[K, V]) checkMemory() {
	c.nextCheck = later(c.latest, c.limits.trim)
	if room, used := c.room(), c.used; room > c.limits.keep && room > 4*c.peak && room > 16*used {
		c.trim()
	}
	c.peak = c.used
}

// trim moves every entry to the lowest numbers and frees the pages behind them.
func (c *Core[K, V]) trim() {
	used := number(c.used)
	hole := number(1)
	for n := used + 1; n < c.nextNew; n++ {
		if !c.node(n).inUse {
			continue
		}
		for c.node(hole).inUse {
			hole++
		}
		c.move(n, hole)
	}
	c.ready.truncate(c.nodes) // reads nodes of unused numbers: must precede the cut of the nodes
	c.delayed.truncate(used)
	c.truncate(used)
}

// move moves an entry to the free number to.
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
