package leader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/run"
)

// Elector runs for a lease. Make one with [New]; its methods may be called from any goroutine.
type Elector struct {
	c      client.Client
	config Config
	logger *slog.Logger
	hook   func(State)
	now    func() time.Duration

	running atomic.Bool
	// until is the end of our time in the lease, by now; zero: we have none.
	until atomic.Int64

	mu     sync.Mutex
	state  State
	lost   *LostError
	fenced []*client.Live // whose writes are cut off when our time ends
}

// State is the election as this process sees it.
type State struct {
	// Leading: the lease is surely ours at this moment.
	Leading bool
	// Holder is the identity that the Lease names; empty: none, or nothing is known.
	Holder string
	// Renewed is the wall time of this machine when our lease was last renewed, or when we last
	// saw a sign of life of another leader. Zero: never.
	Renewed time.Time
	// Err is what is wrong: the [LostError] once the lease was lost, else why the last request
	// for the Lease failed, for example a client.ForbiddenError that names verb and resource, or an
	// [OddLeaseError]. nil: nothing.
	Err error
}

// New makes an elector. It does not talk to the server: Run does. c must not be fenced by this
// elector. Given a *client.Live, a standby watches the Lease; given any other client, it looks
// every RetryPeriod. The error is an [*option.Error].
func New(c client.Client, o Options) (*Elector, error) {
	if c == nil {
		return nil, &option.Error{Of: "leader.New", Field: "client", Err: errors.New("is nil")}
	}
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	return &Elector{
		c: c, config: config, hook: o.Hook, now: newClock().now,
		logger: logguard.Logger(o.Logger).With("lease", config.Lease.String(), "identity", config.Identity),
	}, nil
}

// Identity of this process in the Lease.
func (e *Elector) Identity() string { return e.config.Identity }

// Fence lets writes through while the lease is surely ours, by the clock of this machine, and
// keeps them back with a [NotLeadingError] otherwise: also before Run, when the ctx of the work
// has not ended yet but our time has, and when the process wakes up after a pause. It costs two
// readings of the clock.
func (e *Elector) Fence() client.Fence {
	return func(client.Call) error {
		if e.leading() {
			return nil
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		return &NotLeadingError{Lease: e.config.Lease, Identity: e.config.Identity, Holder: e.state.Holder, Lost: e.lost}
	}
}

// Fenced is c with the [Elector.Fence]. When our time in the lease ends, the writes of the client
// that have no answer yet are cut off, too: see [client.Live.CutWrites]. Make one for each client,
// not one for each write: the elector keeps it.
func (e *Elector) Fenced(c *client.Live) *client.Live {
	fenced := c.Fenced(e.Fence())
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fenced = append(e.fenced, fenced)
	return fenced
}

// cutWrites follows the closing of the fence.
func (e *Elector) cutWrites() {
	e.mu.Lock()
	fenced := slices.Clone(e.fenced)
	e.mu.Unlock()
	for _, c := range fenced {
		c.CutWrites()
	}
}

func (e *Elector) leading() bool {
	until := e.until.Load()
	return until != 0 && int64(e.now()) < until
}

// State tells how things stand.
func (e *Elector) State() State {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.state
	s.Leading = s.Leading && e.leading()
	return s
}

// Run waits for the lease, calls lead once it has it, renews it for as long as lead runs, and
// releases it after lead has returned, which may take up to RenewDeadline if the server does not
// answer. When it returns, everything that it started has ended.
//
// The ctx of lead ends with that of Run, and lead may then take its time: the lease stays ours
// meanwhile. It ends with a [*LostError] as its cause as soon as the lease is or may be lost. If
// that happens when ctx has ended before, only the fence and [Options.Hook] tell it. A failure of
// the server ends nothing before the RenewDeadline.
//
// The error is the LostError, joined with that of lead if lead has another one; else what lead
// has returned, or a *run.PanicError; nil when ctx ended before there was a lease. That the lease
// could not be released is logged. Run may be called again after it has returned, before that it
// is [run.ErrRunning].
func (e *Elector) Run(ctx context.Context, lead func(context.Context) error) error {
	if !e.running.CompareAndSwap(false, true) {
		return fmt.Errorf("elector of %s: %w", e.config.Lease, run.ErrRunning)
	}
	defer e.running.Store(false)
	s := &session{e: e, core: NewCore(e.config), lead: lead, inputs: make(chan func(Time))}
	s.run(ctx)
	lost := s.core.Lost()
	switch {
	case lost == nil:
		return s.result
	case s.result == nil || errors.Is(s.result, error(lost)) || errors.Is(s.result, context.Canceled):
		return lost
	}
	return errors.Join(lost, s.result)
}
