package reflector

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flyball-io/flyball/internal/jitter"
	"github.com/flyball-io/flyball/run"
)

// LimiterOptions say how a Limiter spreads lists. The zero value works. NewLimiter reads them.
type LimiterOptions struct {
	// Lists is the number of lists that may be open at a time. Zero: 8. Negative: any number.
	Lists int
	// Rate is the number of lists that may begin within any second. Zero: 100. Negative: any number.
	Rate int
	// Patience is how long a list without progress counts as one of Lists. After that the list goes on,
	// but no longer counts. The Limiter adapts the time: it is twice as long as servers take to answer,
	// and each list that hangs halves it. It stays between a tenth of Patience and twice Patience. Zero:
	// 5 s. Negative: a list counts until it ends.
	Patience time.Duration
}

// Limiter spreads the lists of the reflectors that share it: a program with many kinds does not list all of
// them at once. Lists begin in the order of their Acquire. While other lists are open, they begin a few
// random milliseconds apart. A list that hangs delays others for Patience only. Watches do not count.
// Several goroutines may use a Limiter.
type Limiter struct {
	o     LimiterOptions
	slots chan struct{} // nil: no bound
	gate  chan struct{} // held by the list that begins next

	// begun is a ring of the start times of the last Rate lists. The holder of the gate owns it.
	begun []time.Time
	next  int

	patience atomic.Int64 // the adapted Patience, as a time.Duration
}

// NewLimiter returns a Limiter.
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

// Acquire waits until a list may begin. The caller releases the Permit. The error is the cause of ctx; then
// there is no Permit. A nil Limiter does not wait, and returns a nil Permit. A Reflector calls Acquire for its
// own lists.
func (l *Limiter) Acquire(ctx context.Context) (*Permit, error) {
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
	p := &Permit{l: l, began: time.Now()}
	if l.slots != nil && l.o.Patience > 0 {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.timer = time.AfterFunc(time.Duration(l.patience.Load()), p.check)
	}
	return p, nil
}

// answered adapts the patience to the time that a list took to answer.
func (l *Limiter) answered(after time.Duration) {
	now := time.Duration(l.patience.Load())
	l.setPatience(max(2*after, now/2))
}

func (l *Limiter) setPatience(d time.Duration) {
	l.patience.Store(int64(min(max(d, l.o.Patience/10), 2*l.o.Patience)))
}

// pace waits until the next list may begin. That is a second after the list that began Rate lists before. If
// other lists are open, it is also a random time after the last one, at most half of 1 s / Rate.
func (l *Limiter) pace(ctx context.Context) error {
	if l.begun == nil {
		return nil
	}
	now := time.Now()
	last := l.begun[(l.next+len(l.begun)-1)%len(l.begun)]
	share := time.Second / time.Duration(len(l.begun))
	at := now
	if len(l.slots) > 0 {
		at = last.Add(jitter.N(share/2 + 1))
	}
	if full := l.begun[l.next].Add(time.Second); full.After(at) {
		at = full
	}
	if at.After(now) {
		return run.Sleep(ctx, at.Sub(now))
	}
	return nil
}

func (l *Limiter) releaseSlot() {
	if l.slots != nil {
		<-l.slots
	}
}

// Permit is the permission to list. Its list counts until Release, or until it makes no progress for too
// long. The methods of a nil Permit do nothing.
type Permit struct {
	l      *Limiter
	began  time.Time
	inputs atomic.Uint64 // the number of Progress calls
	timer  *time.Timer   // nil: the list counts until Release

	mu       sync.Mutex
	seen     uint64
	released bool
}

// Progress records that something came.
func (p *Permit) Progress() {
	if p != nil && p.inputs.Add(1) == 1 {
		p.l.answered(time.Since(p.began))
	}
}

// check releases the permit if nothing came since the last check.
func (p *Permit) check() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.released {
		return
	}
	if n := p.inputs.Load(); n != p.seen {
		p.seen = n
		p.timer.Reset(time.Duration(p.l.patience.Load()))
		return
	}
	p.released = true
	p.l.setPatience(time.Duration(p.l.patience.Load()) / 2)
	p.l.releaseSlot()
}

// Release ends the permit. Further calls do nothing.
func (p *Permit) Release() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.released {
		return
	}
	p.released = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.l.releaseSlot()
}
