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
	// patience is how long a body may take to come in before it gives way to others that need its
	// bytes: API servers send theirs within milliseconds.
	patience = time.Second
	// roomWait is how long a request waits for room.
	roomWait = 2 * time.Second
	// small is what a request may hold of the reserve, the last quarter of a budget: most are no
	// larger, and large ones must not keep them out.
	small = 64 << 10
)

// Budget bounds the memory that the bodies of all requests to some webhooks hold together: those that
// come in, those in work, and answers of conversion. Bytes count once there is memory for them, not
// when a header promises them. Where there is no room, bodies give way that have been coming in for
// more than a second, the oldest first, with 429; a request that finds none waits for two seconds and
// is then refused with 429 and a Retry-After. Endpoints share a budget by having the same one.
type Budget struct {
	limit int64

	mu         sync.Mutex
	used       int64
	unfinished list.List // of *hold, oldest first
	waiting    int
	changed    chan struct{} // closed, for those who wait, when bytes were given back or somebody gives way
}

// NewBudget makes one of so many bytes. Zero: a quarter of the memory that the process may use, by
// GOMEMLIMIT and the cgroup, whichever is less, at least 8 MiB and at most 256 MiB; 256 MiB where
// there is no limit. Negative: no bound.
func NewBudget(bytes int64) *Budget {
	if bytes == 0 {
		bytes = share(memoryLimit())
	}
	return &Budget{limit: bytes, changed: make(chan struct{})}
}

// Bytes is the size of the budget; negative: there is no bound.
func (b *Budget) Bytes() int64 { return b.limit }

// hold is what one request holds. Its fields are under the mutex of the budget.
type hold struct {
	bytes  int64
	began  time.Time
	place  *list.Element // in unfinished; nil: the body is there
	evict  func()        // has the body fail that comes in
	gaveUp bool          // evict was called
}

var (
	errGaveWay = errors.New("the body came in too slowly, and others needed the memory")
	errNoRoom  = errors.New("too many bytes wait to be answered")
	errNever   = errors.New("the body is larger than the memory for all bodies")
)

// begin says that a body comes in.
func (b *Budget) begin(h *hold, evict func(), now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*h = hold{began: now, evict: evict}
	h.place = b.unfinished.PushBack(h)
}

// arrived says that the body is there: it gives way to nobody any more, unless it was told to.
func (b *Budget) arrived(h *hold) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.finishLocked(h)
	if h.gaveUp {
		return errGaveWay
	}
	return nil
}

func (b *Budget) finishLocked(h *hold) {
	if h.place != nil {
		b.unfinished.Remove(h.place)
		h.place = nil
	}
}

// release gives all back.
func (b *Budget) release(h *hold) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.finishLocked(h)
	b.giveLocked(h, h.bytes)
}

// give gives some bytes back.
func (b *Budget) give(h *hold, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.giveLocked(h, n)
}

func (b *Budget) giveLocked(h *hold, n int64) {
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

// take takes n bytes, and waits for them if need be.
func (b *Budget) take(ctx context.Context, h *hold, n int64) error {
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
			until = now.Add(roomWait)
		}
		if !now.Before(until) {
			return errNoRoom
		}
		wait := min(until.Sub(now), max(s.again, time.Millisecond))
		t := time.NewTimer(wait)
		select {
		case <-changed:
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		}
		t.Stop()
	}
}

// step is what comes of one try to take bytes.
type step struct {
	done   bool
	err    error
	victim func()        // to be called: somebody has to give way
	again  time.Duration // when the next may have to
}

// stepLocked decides. It has no clock.
func (b *Budget) stepLocked(h *hold, n int64, now time.Time) step {
	limit := b.limit
	if limit >= 0 && h.bytes+n > small {
		limit -= limit / 4
	}
	switch {
	case h.gaveUp && h.place != nil:
		return step{done: true, err: errGaveWay}
	case limit < 0 || b.used+n <= limit:
		b.used += n
		h.bytes += n
		return step{done: true}
	case h.bytes+n > limit:
		return step{done: true, err: errNever}
	}
	pending := int64(0) // what comes back from those that were told to give way
	for e := b.unfinished.Front(); e != nil; e = e.Next() {
		other := e.Value.(*hold)
		switch age := now.Sub(other.began); {
		case other == h:
		case other.gaveUp:
			pending += other.bytes
		case b.used-pending+n <= limit:
			return step{again: roomWait}
		case age < patience:
			return step{again: patience - age}
		default:
			other.gaveUp = true
			b.changedLocked() // it may itself wait for room
			return step{victim: other.evict, again: 0}
		}
	}
	return step{again: roomWait}
}

// refusal is the answer to a request for which there is no room.
func refusal(err error) *RefusalError {
	switch err {
	case errNever:
		return &RefusalError{Code: http.StatusRequestEntityTooLarge, Message: err.Error()}
	case errNoRoom, errGaveWay:
		return busy(err.Error())
	}
	return &RefusalError{Code: http.StatusServiceUnavailable, Message: "the caller has gone"}
}
