package leader

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/flyball-io/flyball/backoff"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/wire"
)

// watch posts every change of the Lease to the loop until ctx ends. While no watch is open, the
// core reads by itself.
func (s *session) watch(ctx context.Context, c *client.Live) {
	pause := backoff.Policy{Base: s.e.config.RetryPeriod, Max: max(30*time.Second, s.e.config.RetryPeriod), Jitter: jitter}
	for failures := 0; ctx.Err() == nil; {
		begun := time.Now()
		opened, err := s.watchOnce(ctx, c)
		if opened && time.Since(begun) > s.e.config.RetryPeriod {
			failures = 0
			if _, closed := errors.AsType[*client.WatchClosedError](err); closed {
				continue
			}
		}
		failures++
		if failures == 1 && ctx.Err() == nil {
			s.e.logger.Warn("the lease is not watched; it is read every RetryPeriod", "err", err)
		}
		if run.Sleep(ctx, pause.Delay(failures, rand.Float64())) != nil {
			return
		}
	}
}

// watchOnce runs one watch. It returns the error that ended it, and whether it was open.
func (s *session) watchOnce(ctx context.Context, c *client.Live) (opened bool, err error) {
	key := s.e.config.Lease
	w, err := client.Watch[coordinationv1.Lease](ctx, c, client.InNamespace(key.Namespace), client.FieldSelector("metadata.name="+key.Name))
	if err != nil {
		return false, err
	}
	defer w.Stop()
	s.post(func(now Time) { s.core.Watching(now, true) })
	defer s.post(func(now Time) { s.core.Watching(now, false) })
	for ev, err := range w.Events() {
		if err != nil {
			return true, err
		}
		if l := ev.Object; l != nil && l.Name == key.Name {
			s.post(func(now Time) { s.core.Observe(now, l, ev.Type == wire.Deleted) })
		}
	}
	return true, nil
}
