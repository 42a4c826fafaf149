package workqueue

import (
	"cmp"
	"slices"
	"time"
)

// Observer is told durations as they happen, for histograms. It is called under the queue's
// lock: it must be quick and must not call the queue.
type Observer interface {
	// ObserveWait gets the time from when an add was due until the item was handed out
	// (workqueue_queue_duration_seconds): Item.Waited.
	ObserveWait(time.Duration)
	// ObserveWork gets the time from Get to Done (workqueue_work_duration_seconds).
	ObserveWork(time.Duration)
}

// Stats is what a queue knows of itself at one time. The names are those of the metrics they
// become. Counters only rise.
type Stats struct {
	// Adds counts adds that became due and were not merged into one that was ready already
	// (workqueue_adds_total).
	Adds uint64
	// Retries counts rate limited adds (workqueue_retries_total).
	Retries uint64
	// Aged counts items handed out ahead of their turn after MaxWait
	// (workqueue_aged_promotions_total).
	Aged uint64
	// Depth is how many keys wait for a worker (workqueue_depth): those that are ready, and those
	// that were added again while they are worked on, and are ready when that ends. Len is without
	// the latter.
	Depth int
	// Delayed is how many keys wait for their time (workqueue_delayed).
	Delayed int
	// InFlight is how many keys are being worked on (workqueue_in_flight).
	InFlight int
	// OldestWaiting is how long it has been since the oldest add was due of those that Depth counts
	// (workqueue_oldest_waiting_seconds).
	OldestWaiting time.Duration
	// LongestRunning is how long the oldest item in flight has been so
	// (workqueue_longest_running_processor_seconds).
	LongestRunning time.Duration
	// Unfinished is the sum of the times of all in flight (workqueue_unfinished_work_seconds).
	Unfinished time.Duration
}

// Stats takes constant time.
func (c *Core[K, V]) Stats(now time.Time) Stats {
	c.settle()
	t := c.pass(c.since(now))
	s := Stats{
		Adds: c.adds, Retries: c.retries, Aged: c.agedTotal,
		Depth: c.ready.n + c.behind, Delayed: len(c.delayed.items), InFlight: c.inFlight,
		Unfinished: time.Duration(int64(c.inFlight)*t - c.startSum),
	}
	if n := c.ready.eldest(c.nodes); n != 0 {
		s.OldestWaiting = time.Duration(t - c.node(n).stamp)
	}
	if added, ok := c.reruns.first(); ok {
		s.OldestWaiting = max(s.OldestWaiting, time.Duration(t-added))
	}
	if n := c.running.head; n != 0 {
		s.LongestRunning = time.Duration(t - c.node(n).stamp)
	}
	return s
}

// Depth is how many keys of one priority wait for a worker.
type Depth struct{ Priority, Keys int }

// Depths is [Stats].Depth by priority, highest first, without those that nobody waits with. It takes
// time for each priority in use and each key in flight.
func (c *Core[K, V]) Depths(now time.Time) []Depth {
	c.settle()
	c.pass(c.since(now))
	var out []Depth
	for _, at := range c.ready.find {
		if l := &c.ready.levels[at]; l.n > 0 {
			out = append(out, Depth{l.priority, l.n})
		}
	}
	for n, left := c.running.head, c.behind; left > 0; n = c.node(n).links.next {
		e := c.node(n)
		if e.place != isReady {
			continue
		}
		left--
		i := slices.IndexFunc(out, func(d Depth) bool { return d.Priority == e.priority() })
		if i < 0 {
			out = append(out, Depth{e.priority(), 1})
		} else {
			out[i].Keys++
		}
	}
	slices.SortFunc(out, func(a, b Depth) int { return cmp.Compare(b.Priority, a.Priority) })
	return out
}
