package reflector

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flyball-io/flyball/run"
)

// LimiterOptions say how lists are spread. The zero value works. They are read by NewLimiter.
type LimiterOptions struct {
	// Lists is how many may be under way at a time. Zero: 8. Negative: any number.
	Lists int
	// Rate is how many may begin within any second. Zero: 100. Negative: any number.
	Rate int
	// Patience is how long nothing may come on a list, at first, until it no longer counts as one of
	// Lists. It goes on. Later this is twice as long as servers took to answer, between a tenth of
	// Patience and twice of it, and each list that hangs halves it. Zero: 5 s. Negative: a list
	// counts until it ends.
	Patience time.Duration
}

// Limiter spreads the lists of those who share it, so that a program that starts with many kinds
// does not ask for all of them at once. They begin in the order in which they ask, and while others
// are under way a few milliseconds apart, at random. Lists that hang hold up others for Patience
// only. Watches are not counted. It is safe for use by several goroutines.
type Limiter struct {
	o     LimiterOptions
	slots chan struct{} // nil: no bound
	gate  chan struct{} // held by the one whose turn is next

	// begun has the times of the last Rate lists, in a ring. Who holds the gate owns it.
	begun []time.Time
	next  int

	patience atomic.Int64 // at present, as a time.Duration
}

// NewLimiter makes a limiter.
func NewLimiter(o LimiterOptions) *Limiter {
	if o.Lists == 0 {
		o.Lists = 8
	}
	if o.Rate == 0 {
		o.Rate = 100
	}
	if o.Patience == 0 {
		o.Patience = 5 * time.Second
	}
	l := &Limiter{o: o, gate: make(chan struct{}, 1)}
	l.patience.Store(int64(o.Patience))
	if o.Lists > 0 {
		l.slots = make(chan struct{}, o.Lists)
	}
	if o.Rate > 0 {
		l.begun = make([]time.Time, o.Rate)
	}
	return l
}

// Acquire waits for a turn. The error is the cause of ctx: then nothing was taken. A nil Limiter
// lets all pass, with a nil Turn. A Reflector calls it for its own lists.
func (l *Limiter) Acquire(ctx context.Context) (*Turn, error) {
	if l == nil {
		return nil, nil
	}
	select {
	case l.gate <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-l.gate }()
	if err := l.pace(ctx); err != nil {
		return nil, err
	}
	if l.slots != nil {
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if l.begun != nil {
		l.begun[l.next] = time.Now()
		l.next = (l.next + 1) % len(l.begun)
	}
	t := &Turn{l: l, began: time.Now()}
	if l.slots != nil && l.o.Patience > 0 {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.timer = time.AfterFunc(time.Duration(l.patience.Load()), t.look)
	}
	return t, nil
}

// answered learns from how long a list took to answer.
func (l *Limiter) answered(after time.Duration) {
	now := time.Duration(l.patience.Load())
	l.setPatience(max(2*after, now/2))
}

func (l *Limiter) setPatience(d time.Duration) {
	l.patience.Store(int64(min(max(d, l.o.Patience/10), 2*l.o.Patience)))
}

// pace waits until the next list may begin: a second after the one that was Rate before it and, if
// others are under way, up to half of an equal share of a second after the last one.
func (l *Limiter) pace(ctx context.Context) error {
	if l.begun == nil {
		return nil
	}
	now := time.Now()
	last := l.begun[(l.next+len(l.begun)-1)%len(l.begun)]
	share := time.Second / time.Duration(len(l.begun))
	at := now
	if len(l.slots) > 0 {
		at = last.Add(rand.N(share/2 + 1))
	}
	if full := l.begun[l.next].Add(time.Second); full.After(at) {
		at = full
	}
	if at.After(now) {
		return run.Sleep(ctx, at.Sub(now))
	}
	return nil
}

func (l *Limiter) free() {
	if l.slots != nil {
		<-l.slots
	}
}

// Turn is one of the lists that a Limiter counts, until it is released or nothing comes on it for
// too long. A nil Turn is none.
type Turn struct {
	l     *Limiter
	began time.Time
	came  atomic.Uint64 // inputs
	timer *time.Timer   // nil: it counts until it is released

	mu       sync.Mutex
	seen     uint64
	released bool
}

// Progress notes that something came.
func (t *Turn) Progress() {
	if t != nil && t.came.Add(1) == 1 {
		t.l.answered(time.Since(t.began))
	}
}

// look releases the turn if nothing came since it looked last.
func (t *Turn) look() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.released {
		return
	}
	if n := t.came.Load(); n != t.seen {
		t.seen = n
		t.timer.Reset(time.Duration(t.l.patience.Load()))
		return
	}
	t.released = true
	t.l.setPatience(time.Duration(t.l.patience.Load()) / 2)
	t.l.free()
}

// Release ends the turn. It may be called twice.
func (t *Turn) Release() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.released {
		return
	}
	t.released = true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.l.free()
}
