package workqueue

import "time"

// Observer is told durations as they happen, for histograms. It is called under the queue's
// lock: it must be quick and must not call the queue.
type Observer interface {
	// ObserveWait gets the time an item was ready before it was handed out
	// (workqueue_queue_duration_seconds).
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
	// Depth is Len (workqueue_depth).
	Depth int
	// Delayed is how many keys wait for their time (workqueue_delayed).
	Delayed int
	// InFlight is how many keys are being worked on (workqueue_in_flight).
	InFlight int
	// OldestWaiting is how long the oldest ready item has been so
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
		Depth: c.ready.n, Delayed: len(c.delayed.items), InFlight: c.inFlight,
		Unfinished: time.Duration(int64(c.inFlight)*t - c.startSum),
	}
	if n := c.ready.eldest(c.nodes); n != 0 {
		s.OldestWaiting = time.Duration(t - c.node(n).stamp)
	}
	if n := c.running.head; n != 0 {
		s.LongestRunning = time.Duration(t - c.node(n).stamp)
	}
	return s
}
