package workqueue

import (
	"time"

	"github.com/flyball-io/flyball/option"
)

// defaultMaxWait is the default of Options.MaxWait.
const defaultMaxWait = time.Minute

// Options configure a queue of keys K that carry values V (struct{} for none). The zero value
// works. New reads them once.
type Options[K comparable, V any] struct {
	// Merge combines the pending value of a key with the value of a new add. It is called under the
	// queue's lock: it must be quick and must not call the queue. Nil keeps the newer value.
	Merge func(old, new V) V

	// RateLimiter delays adds that are RateLimited. The queue owns it. Nil means DefaultLimiter.
	RateLimiter RateLimiter[K]

	// MaxWait bounds how long higher priorities may keep a ready item waiting. Once an item has
	// been ready for MaxWait, every second Get hands out the item that has been ready longest. That
	// ends when no ready item has waited so long. With one priority, MaxWait has no effect. Zero
	// means one minute. Negative means no bound: low priorities may starve.
	MaxWait time.Duration

	// Waited receives the time from the due time of an add to its hand-out, which equals Item.Waited
	// (workqueue_queue_duration_seconds). Worked receives the time from Get to Done
	// (workqueue_work_duration_seconds). Both are called under the queue's lock: they must be quick
	// and must not call the queue. Nil means none.
	Waited, Worked func(time.Duration)
}

// resolved fills in the defaults.
func (o Options[K, V]) resolved() (Options[K, V], error) {
	if o.Merge == nil {
		o.Merge = func(_, new V) V { return new }
	}
	if o.RateLimiter == nil {
		o.RateLimiter = DefaultLimiter[K]()
	}
	if o.MaxWait == 0 {
		o.MaxWait = defaultMaxWait
	}
	if v, ok := o.RateLimiter.(validator); ok {
		if err := v.validate(); err != nil {
			return o, &option.Error{Of: "workqueue.Options", Field: "RateLimiter", Err: err}
		}
	}
	return o, nil
}

// AddOptions say how to add a key. The zero value adds at once, with priority 0.
type AddOptions[V any] struct {
	// Priority orders ready items, highest first. If the key has a pending add, the higher priority
	// counts. An item whose priority rises goes to the end of its new level.
	Priority int
	// After delays the add. Zero or negative means no delay. If the key has a pending add, the
	// earlier time counts.
	After time.Duration
	// RateLimited counts a failure of the key. It delays the add by the wait of the rate limiter,
	// or by After if that is longer.
	//
	// A failure is not counted while the last backoff of the key has not ended, because an add
	// without delay cut it short. The key then waits for the rest of that backoff. So a backoff
	// grows at its own deadlines only, however often events wake a failing key.
	RateLimited bool
	// Value merges with the value of the pending add, if there is one.
	Value V
}

// Add is a key and its options, for AddAll.
type Add[K comparable, V any] struct {
	Key K
	AddOptions[V]
}

// Item is the result of Get. It belongs to the caller; until Done the queue keeps only the key.
type Item[K comparable, V any] struct {
	Key K
	// Value merges the values of all adds since the key was last handed out.
	Value V
	// Priority is the highest priority of those adds. Pass it to AddWith to keep it for a retry.
	Priority int
	// Waited is the time since the first of those adds was due. It does not include delays. For a
	// key added while in flight, it includes the rest of that work.
	Waited time.Duration
}
