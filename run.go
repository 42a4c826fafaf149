package flyball

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/logguard"
)

var errSyncTimeout = errors.New("not synced in time")

// Run checks that the server answers, starts everything in the order of the phases, and works
// until ctx ends, something that was added fails, or the lease is lost. It then stops the phases in
// reverse: controllers take no new work and let running reconciles finish within the grace period
// (at once, where the lease is lost), the lease is released, then the caches and the servers end.
// When Run returns, everything that it started has ended, but for what a *[StopTimeoutError] in its
// error names.
//
// The error is the cause. It is nil for an end in good order: when ctx was cancelled without a
// cause, or by a signal (see [SignalContext]), and everything ended without an error. Other causes
// of ctx, the failure that stopped the manager, a *leader.LostError, and what went wrong while it
// stopped are all in the error.
//
// A log that takes nothing is in the error as [ErrLogBlocked].
//
// Run may be called again after it returned and all has ended; before that it is [run.ErrRunning].
func (m *Manager) Run(ctx context.Context) error {
	if err := m.life.begin(); err != nil {
		return err
	}
	defer m.life.finish()
	defer m.bare.Close()
	err := m.bare.Check(ctx)
	_, forbidden := errors.AsType[*client.ForbiddenError](err) // then it is there, and knows who we are
	switch {
	case err == nil || forbidden:
	case done(ctx):
		return inOrder(context.Cause(ctx))
	default:
		return fmt.Errorf("checking the server: %w", err)
	}
	err = m.life.run(ctx)
	if logguard.Stuck(m.logger) {
		return errors.Join(err, ErrLogBlocked)
	}
	return err
}

// settleCheck is how often a manager that waits for its cache looks for what keeps it.
const settleCheck = time.Second

// settled holds up the caches until the servers answer, and what acts until the caches are filled.
func (m *Manager) settled(ctx context.Context, p Phase) {
	switch {
	case p == Serve:
		m.serving(ctx)
	case p == Sync && m.o.SyncTimeout > 0:
		m.synced(ctx)
	}
}

// synced waits until the kinds that were opened in the cache are there, except for those that
// something is known to keep: they are reported, and come when they can.
func (m *Manager) synced(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, m.o.SyncTimeout, errSyncTimeout)
	defer cancel()
	for !done(ctx) {
		check, cancel := context.WithTimeout(ctx, settleCheck)
		err := m.cache.WaitForSync(check)
		cancel()
		if err == nil {
			return
		}
		if unsynced, ok := errors.AsType[*informer.SyncError](err); done(ctx) || ok && m.kept(unsynced) {
			m.logger.Error("not everything in the cache has synced, going on", "err", err)
			return
		}
	}
}

// kept reports whether all that is missing has a cause that is known, or may wait for the webhooks of
// this program.
func (m *Manager) kept(e *informer.SyncError) bool {
	now := time.Now()
	return !slices.ContainsFunc(e.Missing, func(n *informer.NotSyncedError) bool {
		return n.Unwrap() == nil && !m.excused(n.Kind.GroupKind(), n.State, now)
	})
}
