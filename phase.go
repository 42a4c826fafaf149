package flyball

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/flyball-io/flyball/internal/life"
)

// Phase is a part of the life of a manager. The phases start in this order and stop in reverse. In the
// stop each one begins when the one before it has ended, or when the bound of that has passed; see [Bounds].
type Phase int // the values are those of life.Phase

const (
	// Serve is for servers that the other phases need: webhooks, probes, metrics.
	Serve Phase = iota
	// Sync is for caches. The cache of the manager runs here.
	Sync
	// Always is for functions and controllers on every replica. It starts when the caches have synced.
	Always
	// Lead is for functions and controllers that act. With Options.Leader they run on the leader alone.
	Lead
)

func (p Phase) String() string { return life.Phase(p).String() }

var (
	// ErrLogBlocked is in the error of Run if the handler of Options.Logger has not returned for more than
	// a second. One goroutine lives on and waits for it.
	ErrLogBlocked = errors.New("the log takes nothing: a goroutine waits for it")
	// ErrTransportHung is in the error of Run if a credential plugin, a dialer or a wrapper of the transport
	// has not returned from a request that has ended. A goroutine of each such request lives on.
	ErrTransportHung = errors.New("a request has ended, and its transport does not return: a credential plugin, a file, a dialer or a wrapper of it hangs")
	// ErrClosed is the cause with which Close stops a member.
	ErrClosed = life.ErrClosed
)

// DuplicateNameError says that a member of the manager has this name already.
type DuplicateNameError struct{ Name string }

func (e *DuplicateNameError) Error() string {
	return fmt.Sprintf("the manager has something named %q already", e.Name)
}

// StopTimeoutError says that members of a phase had not ended when its bound passed. Their goroutines may
// still run, and hold the lease: end the process.
type StopTimeoutError struct {
	Phase Phase
	// After is the bound of the phase; see [Options].Stop.
	After time.Duration
	// Names are those of these members, in the order in which they were added; last "leader election", if that lives.
	Names []string
}

// late makes a *StopTimeoutError.
func late(p life.Phase, after time.Duration, names []string) error {
	return &StopTimeoutError{Phase: Phase(p), After: after, Names: names}
}

func (e *StopTimeoutError) Error() string {
	return fmt.Sprintf("phase %s: not ended %v after it was told to stop: %s", e.Phase, e.After, strings.Join(e.Names, ", "))
}

// Bounds are how long the phases may take to stop. Then [Manager.Run] goes on with the next phase, and its
// error names what lives on. Zero: the default; negative: no bound.
type Bounds struct {
	// Lead: zero is the grace period and 15 s more. A member that hangs holds the lease beyond it.
	Lead time.Duration
	// Always: zero is the grace period and 15 s more. There is one grace period for Lead and Always: it
	// begins when Run is told to stop.
	Always time.Duration
	// Sync, the caches: zero is 15 s. It begins after the drain; see Webhooks.Drain.
	Sync time.Duration
	// Serve, the servers and the recorder of events: zero is 20 s. It begins when the caches have ended.
	Serve time.Duration
}

// resolved are the bounds by phase. Zero: no bound.
func (b Bounds) resolved(grace time.Duration) [life.Phases]time.Duration {
	own := [life.Phases]time.Duration{Serve: b.Serve, Sync: b.Sync, Always: b.Always, Lead: b.Lead}
	for p, d := range [life.Phases]time.Duration{Serve: 20 * time.Second, Sync: 15 * time.Second, Always: grace + 15*time.Second, Lead: grace + 15*time.Second} {
		own[p] = max(cmp.Or(own[p], d), 0)
	}
	return own
}
