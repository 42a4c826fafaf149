package flyball

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/life"
	"github.com/flyball-io/flyball/internal/logguard"
)

var errSyncTimeout = errors.New("not synced in time")

// Run checks that the server answers, and starts the phases in their order. It works until ctx ends, a
// member fails, or the lease is lost. Then it stops the phases in reverse. Controllers take no new work and
// let running reconciles finish within the grace period; a lost lease cancels them at once. Then the lease
// is released, and the caches and the servers end. Run returns nil for an end in good order: ctx was
// cancelled without a cause or by a signal (see [SignalContext]), and everything ended without an error.
// Otherwise the error joins the cause of ctx, a *leader.LostError, and the failures of members and of the check.
//
// What hangs lives on after Run. The error names members and the election in a *[StopTimeoutError], a log by
// [ErrLogBlocked], and a transport by [ErrTransportHung]. While a member of Lead lives on, so does the election,
// and it renews the lease. Not named are checks of probes, handlers of webhooks, and files that hang.
//
// Run may be called again after it has returned and everything has ended. Before that it returns
// [run.ErrRunning].
func (m *Manager) Run(ctx context.Context) error {
	if m.cluster != "" {
		return fmt.Errorf("cluster %s: run the manager that has it", m.cluster)
	}
	if err := m.life.Begin(); err != nil {
		return err
	}
	defer m.life.Finish()
	defer func() {
		for _, c := range m.allClusters() {
			c.bare.Close()
		}
	}()
	err := m.run(ctx)
	if left := m.left(); left != nil {
		return errors.Join(err, left)
	}
	return err
}

// run is Run without the log and the transports that hang.
func (m *Manager) run(ctx context.Context) error {
	m.logger.Info("manager starts", m.introduction()...)
	err := m.bare.Check(ctx)
	_, forbidden := errors.AsType[*client.ForbiddenError](err) // the server answers, and knows the user
	switch {
	case err == nil || forbidden:
	case ctx.Err() != nil:
		if cause := context.Cause(ctx); !inOrder(cause) {
			return cause
		}
		return nil
	default:
		return fmt.Errorf("checking the server: %w", err)
	}
	return m.life.Run(ctx)
}

// inOrder reports whether a cause is one of an end in good order: a plain cancel, or a signal.
func inOrder(cause error) bool {
	_, signal := errors.AsType[*SignalError](cause)
	return signal || cause == context.Canceled
}

// introduction is what tells one program from another in the log: versions, clusters, and the options on which its
// work depends.
func (m *Manager) introduction() []any {
	all := []any{"program", m.o.Name}
	if info, ok := debug.ReadBuildInfo(); ok {
		all = append(all, "version", cmp.Or(info.Main.Version, "(devel)"), "go", info.GoVersion)
		for _, dep := range info.Deps {
			if dep.Path == modulePath {
				all = append(all, "flyball", dep.Version)
			}
		}
	}
	all = append(all, "cluster", hostOf(m.o.Config))
	var further []string
	for _, c := range m.allClusters()[1:] {
		further = append(further, c.cluster+"="+hostOf(c.o.Config))
	}
	if len(further) > 0 {
		all = append(all, "further", further)
	}
	if len(m.o.Cache.Namespaces) > 0 {
		all = append(all, "namespaces", m.o.Cache.Namespaces)
	}
	if m.elector != nil {
		all = append(all, "identity", m.elector.Identity())
	}
	return append(all, "gracePeriod", m.o.GracePeriod)
}

// modulePath is the path of this module.
const modulePath = "github.com/flyball-io/flyball"

// left returns errors for the goroutines that others hold up.
func (m *Manager) left() error {
	var blocked, hung error
	if logguard.Stuck(m.logger) {
		blocked = ErrLogBlocked
	}
	for end := time.Now().Add(hungWait); m.hung() > 0; time.Sleep(hungWait / 100) {
		if time.Now().After(end) {
			hung = ErrTransportHung
			break
		}
	}
	return errors.Join(blocked, hung)
}

// hungWait is how long Run waits for transports that have not returned, but may do so at once.
const hungWait = time.Second

// hung is the number of requests whose transport has not returned.
func (m *Manager) hung() int {
	n := 0
	for _, c := range m.allClusters() {
		n += c.bare.Hung()
	}
	return n
}

// settleCheck is how often a manager that waits for its cache looks for errors of the watches.
const settleCheck = time.Second

// settled returns after the phase Serve when the servers answer, and after Sync when the caches have synced.
func (m *Manager) settled(ctx context.Context, p life.Phase) {
	switch {
	case p == life.Serve:
		m.serving(ctx)
	case p == life.Sync && m.o.SyncTimeout > 0:
		m.synced(ctx)
	}
}

// synced waits until the kinds that were opened in the caches have synced, for Options.SyncTimeout at most.
func (m *Manager) synced(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, m.o.SyncTimeout, errSyncTimeout)
	defer cancel()
	for _, c := range m.allClusters() {
		c.cacheSynced(ctx)
	}
}

// cacheSynced returns early when each of the missing kinds has a known error. They are logged, and may sync
// later.
func (m *Manager) cacheSynced(ctx context.Context) {
	for ctx.Err() == nil {
		check, cancel := context.WithTimeout(ctx, settleCheck)
		err := m.cache.WaitForSync(check)
		cancel()
		if err == nil {
			return
		}
		if unsynced, ok := errors.AsType[*informer.SyncError](err); ctx.Err() != nil || ok && m.readiness().NothingToAwait(unsynced) {
			m.logger.Error("not everything in the cache has synced, going on", "err", err)
			return
		}
	}
}
