package leader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/jitter"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/run"
)

// Elector is a candidate for a lease. Make one with [New]. Any goroutine may call its methods.
type Elector struct {
	c   client.Client
	o   Options
	now func() time.Time // see clock

	running atomic.Bool
	// until is the end of our term, by now, in nanoseconds of Unix time. Zero means no term.
	until atomic.Int64

	mu     sync.Mutex
	state  Leadership
	lost   *LostError
	fenced []*client.Live // clients whose writes are cut off when our term ends
}

// Leadership is the election as this process sees it.
type Leadership struct {
	// Leading reports whether this process holds a lease that is valid by the clock of this
	// machine.
	Leading bool
	// Holder is the identity that the Lease names. Empty means no holder, or an unknown one.
	Holder string
	// Renewed is wall time of this machine: the last renewal of our lease, or the last sign of life
	// of another leader that we saw. Zero means never.
	Renewed time.Time
	// Err is the current problem. Once the lease was lost, it is the [LostError]. Otherwise it is
	// the failure of the last request for the Lease, for example a client.ForbiddenError that names
	// verb and resource, or an [OddLeaseError]. nil means none.
	Err error
}

// New makes an elector. It sends no request; Run does. c must not be fenced by this elector. With a
// *client.Live, a standby watches the Lease. With any other client, it reads the Lease every
// RetryPeriod. The error is an *[option.Error].
func New(c client.Client, o Options) (*Elector, error) {
	if c == nil {
		return nil, &option.Error{Of: "leader.New", Field: "client", Err: errors.New("is nil")}
	}
	o, err := o.validated()
	if err != nil {
		return nil, err
	}
	return &Elector{c: c, o: o, now: newClock().now}, nil
}

// Identity returns the identity of this process in the Lease.
func (e *Elector) Identity() string { return e.o.Identity }

// Fence returns a fence that passes writes while this process holds a lease that is valid by the
// clock of this machine. Otherwise it refuses them with a [NotLeadingError]. That includes writes
// before Run, writes after the end of the term while the ctx of the work has not ended yet, and
// writes after a pause of the process. A check costs two readings of the clock.
func (e *Elector) Fence() func(client.Call) error {
	return func(client.Call) error {
		if e.leading() {
			return nil
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		return &NotLeadingError{Lease: e.o.key(), Identity: e.o.Identity, Holder: e.state.Holder, Lost: e.lost}
	}
}

// Fenced returns c with the [Elector.Fence]. When our term ends, it also cuts off the client's
// writes that have no answer yet: see [client.Live.CutWrites]. Make one fenced client for each
// client, not one for each write: the elector keeps it.
func (e *Elector) Fenced(c *client.Live) *client.Live {
	fenced := c.Fenced(e.Fence())
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fenced = append(e.fenced, fenced)
	return fenced
}

// cutWrites cuts off the unanswered writes of all fenced clients. Call it after the fence is
// closed.
func (e *Elector) cutWrites() {
	e.mu.Lock()
	fenced := slices.Clone(e.fenced)
	e.mu.Unlock()
	for _, c := range fenced {
		c.CutWrites()
	}
}

// leading reports whether the lease is still held by the clock. Fenced writes leave only then.
func (e *Elector) leading() bool {
	until := e.until.Load()
	return until != 0 && e.now().UnixNano() < until
}

// State returns the state as of now.
func (e *Elector) State() Leadership {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.state
	s.Leading = s.Leading && e.leading()
	return s
}

// Run waits for the lease, calls lead once it holds it, and renews it while lead runs. After lead
// has returned, Run releases the lease. That may take up to RenewDeadline if the server does not
// answer. When Run returns, every goroutine that it started has ended.
//
// The ctx of lead ends with the ctx of Run. lead may then take its time: the lease stays ours until
// lead returns. The ctx of lead ends with a [*LostError] as its cause as soon as the lease is or
// may be lost. If the lease is lost after ctx has ended, only the fence and [Options.Hook] tell it.
// A failure of the server ends nothing before the RenewDeadline.
//
// Run returns the LostError if the lease was lost, joined with the error of lead if that is another
// one. Otherwise it returns the error of lead, or a *run.PanicError. It returns nil if ctx ended
// before this process held the lease. A failure to release the lease is logged. Run may be called
// again after it has returned; before that it returns [run.ErrRunning].
func (e *Elector) Run(ctx context.Context, lead func(context.Context) error) error {
	if !e.running.CompareAndSwap(false, true) {
		return fmt.Errorf("elector of %s: %w", e.o.key(), run.ErrRunning)
	}
	defer e.running.Store(false)
	s := &session{e: e, core: newCore(e.o, jitter.Float64), lead: lead, inputs: make(chan input)}
	s.run(ctx)
	lost := s.core.lost
	switch {
	case lost == nil:
		return s.result
	case s.result == nil || errors.Is(s.result, error(lost)) || errors.Is(s.result, context.Canceled):
		return lost
	}
	return errors.Join(lost, s.result)
}
