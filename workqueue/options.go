package workqueue

import (
	"time"

	"github.com/flyball-io/flyball/option"
)

// defaultMaxWait is the MaxWait of the zero Options.
const defaultMaxWait = time.Minute

// Options configure a queue of keys K that carry values V (struct{} for none). The zero value
// works. They are read once, by New.
type Options[K comparable, V any] struct {
	// Merge combines the value that waits with the one just added for the same key. It is called
	// under the queue's lock: it must be quick and must not call the queue. That may be later than
	// the add, but before anybody sees the item. Nil keeps the newer.
	Merge func(old, new V) V

	// RateLimiter delays adds that are RateLimited. The queue owns it. Nil: DefaultLimiter.
	RateLimiter RateLimiter[K]

	// MaxWait is how long an item may be ready before it no longer stands behind higher
	// priorities: from then on the item that has been ready longest is taken at every second
	// Get, until none has waited so long. A queue with one priority is not affected. Zero: one
	// minute. Negative: off, and low priorities may wait for ever.
	MaxWait time.Duration

	// Observer is told every waiting and working time. Nil: nobody is.
	Observer Observer
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

// AddOptions say how a key is added. The zero value adds at once, with priority 0.
type AddOptions[V any] struct {
	// Priority: higher is handed out first. If the key waits already the higher one counts; an
	// item whose priority rises goes to the end of its new level.
	Priority int
	// After delays the add. Zero or negative: now. If the key waits already the earlier time
	// counts.
	After time.Duration
	// RateLimited counts a failure of the key and delays the add by what the rate limiter says,
	// or by After if that is longer.
	//
	// A failure is not counted that comes before the last backoff of the key has ended, because
	// an add without delay cut it: the key waits for the rest of that backoff. So a backoff grows
	// by its own deadlines only, however often events wake a failing key.
	RateLimited bool
	// Value is merged with the value that waits for the key, if any.
	Value V
}

// Add is a key and how it is added, for AddAll.
type Add[K comparable, V any] struct {
	Key K
	AddOptions[V]
}

// Item is what Get hands out. It belongs to the caller; the queue keeps only the key, until Done.
type Item[K comparable, V any] struct {
	Key K
	// Value is merged from all adds since the key was last handed out.
	Value V
	// Priority is the highest of those adds. Give it to AddWith to keep it for a retry.
	Priority int
	// Waited is how long it has been since the first of those adds was due. Delays are not in it;
	// for a key that was added while it was worked on, the rest of that work is.
	Waited time.Duration
}
