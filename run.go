package flyball

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/informer"
)

var errSyncTimeout = errors.New("not synced in time")

// Run checks that the server answers, starts everything in the order of the phases, and works
// until ctx ends or something that was added fails. It then stops the phases in reverse:
// controllers take no new work and let running reconciles finish within the grace period, then
// the caches end. When Run returns, everything that it started has ended.
//
// The error is the cause. It is nil for an end in good order: when ctx was cancelled without a
// cause, or by a signal (see [SignalContext]), and everything ended without an error. Other causes
// of ctx, the failure that stopped the manager, and what went wrong while it stopped are all in
// the error.
//
// Run may be called again after it returned; before that it is [ErrRunning].
func (m *Manager) Run(ctx context.Context) error {
	if !m.life.begin() {
		return ErrRunning
	}
	defer m.life.finish()
	defer m.live.Close()
	err := m.live.Check(ctx)
	_, forbidden := errors.AsType[*client.Forbidden](err) // then it is there, and knows who we are
	switch {
	case err == nil || forbidden:
	case done(ctx):
		return inOrder(context.Cause(ctx))
	default:
		return fmt.Errorf("checking the server: %w", err)
	}
	return m.life.run(ctx)
}

// settleCheck is how often a manager that waits for its cache looks for what keeps it.
const settleCheck = time.Second

// settled holds up what acts until the kinds that were opened in the cache are there, except for
// those that something is known to keep: they are reported, and come when they can.
func (m *Manager) settled(ctx context.Context, p Phase) {
	if p != Sync || m.o.SyncTimeout < 0 {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, m.o.SyncTimeout, errSyncTimeout)
	defer cancel()
	for !done(ctx) {
		check, cancel := context.WithTimeout(ctx, settleCheck)
		err := m.cache.WaitForSync(check)
		cancel()
		if err == nil {
			return
		}
		if unsynced, ok := errors.AsType[*informer.SyncError](err); done(ctx) || ok && kept(unsynced) {
			m.logger.Error("not everything in the cache has synced, going on", "err", err)
			return
		}
	}
}

// kept reports whether all that is missing has a cause that is known.
func kept(e *informer.SyncError) bool {
	return !slices.ContainsFunc(e.Missing, func(m *informer.NotSyncedError) bool { return m.Unwrap() == nil })
}

// Add has r run whenever the manager runs, in the phase [Lead]; from now on if that phase runs
// already. If r fails, the manager stops and Run returns the error; if it returns nil early, the
// others go on. Closing what Add returns stops r, waits until it has ended, and makes the name
// free; not to be called from r itself, which would wait for itself.
//
// The errors are [ErrNoName], [ErrNilRunner] and *[DuplicateNameError].
func (m *Manager) Add(name string, r controller.Runner) (io.Closer, error) {
	return m.life.add(Lead, name, r)
}

// AddTo is [Manager.Add] to a phase; [ErrNoPhase] is an error more.
func (m *Manager) AddTo(p Phase, name string, r controller.Runner) (io.Closer, error) {
	return m.life.add(p, name, r)
}
