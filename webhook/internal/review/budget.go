package review

import (
	"container/list"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

const (
	// minEvictAge is the age from which an unfinished body may be evicted for other requests. API
	// servers send their bodies within milliseconds.
	minEvictAge = time.Second
	// maxWait is the longest wait of a request for memory.
	maxWait = 2 * time.Second
	// smallRequest is the most bytes that a request may hold and still use the reserve, the last quarter of a budget.
	// Most requests are smaller. The reserve keeps large ones from blocking them.
	smallRequest = 64 << 10
)

// Budget bounds the memory that the requests to some endpoints hold together: bodies that are arriving, bodies in work,
// and answers of conversion. Bytes count when their memory is allocated, not when a header announces them.
//
// When the budget is exhausted, bodies that have been arriving for more than a second are evicted
// with 429, the oldest first. A request that finds no victim waits for two seconds, and is then
// refused with 429 and a Retry-After. Endpoints share a budget through the same pointer.
type Budget struct {
	limit int64

	mu         sync.Mutex
	used       int64
	unfinished list.List // of *reservation, oldest first
	waiting    int
	changed    chan struct{} // closed when bytes are returned or a body is evicted, for waiting requests
}

// NewBudget returns a budget of the given size in bytes. Zero means a quarter of the memory that
// the process may use, at least 8 MiB and at most 256 MiB. The memory limit is the lower of
// GOMEMLIMIT and the cgroup's; without a limit the budget is 256 MiB. Negative means no bound.
func NewBudget(bytes int64) *Budget {
	if bytes == 0 {
		bytes = share(memoryLimit())
	}
	return &Budget{limit: bytes, changed: make(chan struct{})}
}

// reservation is the share of one request. The budget's mutex guards its fields.
type reservation struct {
	bytes   int64
	began   time.Time
	element *list.Element // in unfinished; nil once the body has arrived
	evict   func()        // makes reading the body fail
	evicted bool          // evict was called
}

var (
	errEvicted   = errors.New("the body arrived too slowly, and other requests needed the memory")
	errExhausted = errors.New("the memory for request bodies is exhausted")
	errTooLarge  = errors.New("the body is larger than the memory for all request bodies")
)

// begin registers a body that starts to arrive.
func (b *Budget) begin(h *reservation, evict func(), now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*h = reservation{began: now, evict: evict}
	h.element = b.unfinished.PushBack(h)
}

// arrived marks the body as complete: it can no longer be evicted. It fails if the body was evicted
// before.
func (b *Budget) arrived(h *reservation) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.finishLocked(h)
	if h.evicted {
		return errEvicted
	}
	return nil
}

func (b *Budget) finishLocked(h *reservation) {
	if h.element != nil {
		b.unfinished.Remove(h.element)
		h.element = nil
	}
}

// release returns all bytes of h.
func (b *Budget) release(h *reservation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.finishLocked(h)
	b.giveLocked(h, h.bytes)
}

// give returns n bytes of h.
func (b *Budget) give(h *reservation, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.giveLocked(h, n)
}

func (b *Budget) giveLocked(h *reservation, n int64) {
	if n != 0 {
		h.bytes -= n
		b.used -= n
		b.changedLocked()
	}
}

func (b *Budget) changedLocked() {
	if b.waiting > 0 {
		close(b.changed)
		b.changed, b.waiting = make(chan struct{}), 0
	}
}

// take takes n bytes, and waits for them if necessary.
func (b *Budget) take(ctx context.Context, h *reservation, n int64) error {
	var until time.Time
	for {
		now := time.Now()
		b.mu.Lock()
		s := b.stepLocked(h, n, now)
		changed := b.changed
		if !s.done {
			b.waiting++
		}
		b.mu.Unlock()
		if s.victim != nil {
			s.victim()
		}
		if s.done {
			return s.err
		}
		if until.IsZero() {
			until = now.Add(maxWait)
		}
		if !now.Before(until) {
			return errExhausted
		}
		wait := min(until.Sub(now), max(s.wait, time.Millisecond))
		select {
		case <-changed:
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// step is the outcome of one attempt to take bytes.
type step struct {
	done   bool
	err    error
	victim func()        // evicts a body; to be called without the lock
	wait   time.Duration // the delay before the next attempt
}

// stepLocked decides on one attempt. It reads no clock.
func (b *Budget) stepLocked(h *reservation, n int64, now time.Time) step {
	limit := b.limit
	if limit >= 0 && h.bytes+n > smallRequest {
		limit -= limit / 4
	}
	switch {
	case h.evicted && h.element != nil:
		return step{done: true, err: errEvicted}
	case limit < 0 || b.used+n <= limit:
		b.used += n
		h.bytes += n
		return step{done: true}
	case h.bytes+n > limit:
		return step{done: true, err: errTooLarge}
	}
	pending := int64(0) // bytes that evicted bodies will return
	for e := b.unfinished.Front(); e != nil; e = e.Next() {
		other := e.Value.(*reservation)
		switch age := now.Sub(other.began); {
		case other == h:
		case other.evicted:
			pending += other.bytes
		case b.used-pending+n <= limit:
			return step{wait: maxWait}
		case age < minEvictAge:
			return step{wait: minEvictAge - age}
		default:
			other.evicted = true
			b.changedLocked() // the evicted request may itself be waiting
			return step{victim: other.evict, wait: 0}
		}
	}
	return step{wait: maxWait}
}

// refusal returns the answer to a request that got no memory.
func refusal(err error) *RefusalError {
	switch err {
	case errTooLarge:
		return &RefusalError{Code: http.StatusRequestEntityTooLarge, Message: err.Error()}
	case errExhausted, errEvicted:
		return busy(err.Error())
	}
	return &RefusalError{Code: http.StatusServiceUnavailable, Message: "the caller has disconnected"}
}
