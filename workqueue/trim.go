package workqueue

import (
	"slices"
	"time"
)

// limits are the sizes from which on a core spends work now to save work or memory later. Tests
// lower them.
type limits struct {
	keep int   // number of entries whose memory is never freed
	trim int64 // nanoseconds between two checks for too much memory
}

var defaultLimits = limits{keep: 1024, trim: int64(time.Minute)}

// checkMemory trims a core that holds far more memory than it needed since the last look. A core
// that becomes empty frees memory in release instead.
func (c *core[K, V]) checkMemory() {
	c.nextCheck = later(c.latest, c.limits.trim)
	if room, used := c.room(), c.used; room > c.limits.keep && room > 4*c.peak && room > 16*used {
		c.trim()
	}
	c.peak = c.used
}

// trim gives the entries the lowest numbers, in new pages, and drops the old ones.
func (c *core[K, V]) trim() {
	nodes, cells, end := c.nodes, c.cells, c.nextNew
	numbers := make([]number, end) // new ones, by old ones
	c.ready.compactAges(nodes)
	c.reruns.compact()
	c.reset()
	c.used = 0
	for n := number(1); n < end; n++ {
		if e := nodes.at(n); e.inUse {
			d := cells.at(n)
			numbers[n] = c.insert(d.key, e.hash)
			*c.node(numbers[n]), *c.cell(numbers[n]) = *e, *d
		}
	}
	for n := number(1); n < c.nextNew; n++ {
		if e := c.node(n); e.inFlight || e.place == isReady { // it is in a list
			e.links = links{numbers[e.links.prev], numbers[e.links.next]}
		}
	}
	c.running.renumber(numbers)
	c.ready.renumber(numbers)
	c.delayed.renumber(numbers)
	c.reruns.renumber(numbers)
	c.backoffs = renumbered(c.backoffs, numbers)
}

func (l *list) renumber(numbers []number) { l.head, l.tail = numbers[l.head], numbers[l.tail] }

// renumber is for compact ages. It frees unused memory.
func (r *ready) renumber(numbers []number) {
	r.ages = slices.Clone(r.ages)
	for i, n := range r.ages {
		r.ages[i] = numbers[n]
	}
	for i := range r.levels {
		r.levels[i].items.renumber(numbers)
	}
}

func (h *heap) renumber(numbers []number) {
	h.items = slices.Clone(h.items)
	h.place = nil
	for i := range h.items {
		h.items[i].n = numbers[h.items[i].n]
	}
	h.place = make([]uint32, slices.Max(numbers)+1)
	for i, r := range h.items {
		h.place[r.n] = uint32(i)
	}
}

// renumber is for compact reruns.
func (r *reruns) renumber(numbers []number) {
	r.added = renumbered(r.added, numbers)
	for i := range r.order {
		r.order[i].n = numbers[r.order[i].n]
	}
}

func renumbered(m map[number]int64, numbers []number) map[number]int64 {
	if len(m) == 0 {
		return nil
	}
	is := make(map[number]int64, len(m))
	for n, v := range m {
		is[numbers[n]] = v
	}
	return is
}
