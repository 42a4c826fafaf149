package workqueue

import (
	"cmp"
	"slices"
	"time"
)

// Stats holds the counters and gauges of a queue at one time. The comments name their metrics.
// Counters only rise.
type Stats struct {
	// Adds counts adds that became due and did not merge into a ready item (workqueue_adds_total).
	Adds uint64
	// Retries counts rate limited adds (workqueue_retries_total).
	Retries uint64
	// Aged counts items that MaxWait handed out before higher priorities
	// (workqueue_aged_promotions_total).
	Aged uint64
	// Depth is the number of keys that wait for a worker (workqueue_depth). It counts ready items,
	// and keys in flight that were added again. Len does not count the latter.
	Depth int
	// Delayed is the number of keys that wait for their due time (workqueue_delayed).
	Delayed int
	// InFlight is the number of keys with a worker (workqueue_in_flight).
	InFlight int
	// OldestWaiting is the time since the earliest due time of the adds that Depth counts
	// (workqueue_oldest_waiting_seconds).
	OldestWaiting time.Duration
	// LongestRunning is the time since the oldest item in flight was handed out
	// (workqueue_longest_running_processor_seconds).
	LongestRunning time.Duration
	// Unfinished is the sum of the times in flight of all items in flight
	// (workqueue_unfinished_work_seconds).
	Unfinished time.Duration
}

// stats returns counters and gauges as of t.
func (c *core[K, V]) stats(t int64) Stats {
	t = c.advance(t)
	s := Stats{
		Adds: c.adds, Retries: c.retries, Aged: c.agedTotal,
		Depth: c.ready.ages.n + c.readyOnDone, Delayed: len(c.delayed), InFlight: c.running.n,
		Unfinished: time.Duration(int64(c.running.n)*t - c.startSum),
	}
	for _, e := range []*entry[K, V]{c.ready.ages.head, c.reruns.head} {
		if e != nil {
			s.OldestWaiting = max(s.OldestWaiting, time.Duration(t-e.due))
		}
	}
	if e := c.running.head; e != nil {
		s.LongestRunning = time.Duration(t - e.stamp)
	}
	return s
}

// Depth is the number of keys of one priority that wait for a worker.
type Depth struct{ Priority, Keys int }

// depths returns [Stats].Depth by priority. It takes time proportional to the priorities in use plus
// the keys in flight.
func (c *core[K, V]) depths(t int64) []Depth {
	c.advance(t)
	var out []Depth
	for _, l := range c.ready.levels {
		out = append(out, Depth{l.priority, l.items.n})
	}
	for e, remaining := c.running.head, c.readyOnDone; remaining > 0; e = e.links[byTurn].next {
		if e.place != isReady {
			continue
		}
		remaining--
		i := slices.IndexFunc(out, func(d Depth) bool { return d.Priority == e.priority })
		if i < 0 {
			out = append(out, Depth{e.priority, 1})
		} else {
			out[i].Keys++
		}
	}
	slices.SortFunc(out, func(a, b Depth) int { return cmp.Compare(b.Priority, a.Priority) })
	return out
}
