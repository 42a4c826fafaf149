package flyball

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Phase is when something runs: phases start in this order and stop in reverse, each when the one
// before it has ended, or when its time is over.
type Phase int

const (
	// Serve is for servers that others need first, such as webhooks and probes.
	Serve Phase = iota
	// Sync is for caches. That of the manager runs here.
	Sync
	// Always is for what runs on every replica, once the caches are there.
	Always
	// Lead is for what acts: controllers and other runners. With Options.Leader it runs on one
	// replica, the leader.
	Lead

	phaseCount = iota
)

func (p Phase) String() string {
	if p < 0 || p >= phaseCount {
		return fmt.Sprintf("phase %d", int(p))
	}
	return [...]string{"serve", "sync", "always", "lead"}[p]
}

var (
	// ErrNilRunner says that Add was given nothing to run.
	ErrNilRunner = errors.New("runner is nil")
	// ErrNoName says that Add was given no name.
	ErrNoName = errors.New("name is empty")
	// ErrNoPhase says that AddTo was given a phase that there is not.
	ErrNoPhase = errors.New("no such phase")
	// ErrLogBlocked is in the error of Run if a line has been in the handler of Options.Logger for
	// more than a second as Run returns: a goroutine is left, which waits for it.
	ErrLogBlocked = errors.New("the log takes nothing: a goroutine waits for it")
	// ErrClosed is the cause with which something that was added is stopped by its Close.
	ErrClosed = errors.New("closed")
)

// DuplicateNameError says that something of this name is part of the manager already.
type DuplicateNameError struct{ Name string }

func (e *DuplicateNameError) Error() string {
	return fmt.Sprintf("the manager has something named %q already", e.Name)
}

// StopTimeoutError says that parts of a phase had not ended when its time to stop was over. Their
// goroutines may still live: end the process.
type StopTimeoutError struct {
	Phase Phase
	// After is the time that the phase had; see [Options].Stop.
	After time.Duration
	// Names are those of the parts, as they were added.
	Names []string
}

func (e *StopTimeoutError) Error() string {
	return fmt.Sprintf("phase %s: not ended %v after it was told to stop: %s", e.Phase, e.After, strings.Join(e.Names, ", "))
}

// Bounds are how long the phases may take to stop before Run goes on without what has not ended,
// which is then named in its error. Zero: a default; negative: as long as it takes.
type Bounds struct {
	// Lead: what acts. Zero: the grace period and 15 s more, in which the lease is released, too.
	Lead time.Duration
	// Always: what runs on every replica. Zero: the grace period and 15 s more. The grace period
	// itself is one for all: it is counted from when Run was told to stop.
	Always time.Duration
	// Sync: the caches. Zero: 15 s.
	Sync time.Duration
	// Serve: the servers, and the recorder of events. Zero: 20 s. The time for which webhooks are
	// drained lies before it; see Webhooks.Drain.
	Serve time.Duration
}

// resolved are the bounds by phase; zero: none.
func (b Bounds) resolved(grace time.Duration) [phaseCount]time.Duration {
	own := [phaseCount]time.Duration{Serve: b.Serve, Sync: b.Sync, Always: b.Always, Lead: b.Lead}
	for p, d := range [phaseCount]time.Duration{Serve: 20 * time.Second, Sync: 15 * time.Second, Always: grace + 15*time.Second, Lead: grace + 15*time.Second} {
		if own[p] == 0 {
			own[p] = d
		}
		own[p] = max(own[p], 0)
	}
	return own
}
