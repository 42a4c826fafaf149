package leader

import (
	"context"
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/backoff"
	"github.com/flyball-io/flyball/run"
)

// watch posts every change of the Lease to the loop until ctx ends. While no watch is open, the
// core reads by itself.
func (s *session) watch(ctx context.Context, c *client.Live) {
	retry := s.core.o.RetryPeriod
	fails := backoff.Backoff{Policy: backoff.Policy{Base: retry, Max: max(30*time.Second, retry), Jitter: maxJitter}}
	for ctx.Err() == nil {
		begun := time.Now()
		opened, err := s.watchOnce(ctx, c)
		if opened && time.Since(begun) > retry {
			fails.Reset()
			if _, closed := errors.AsType[*client.WatchClosedError](err); closed {
				continue
			}
		}
		pause := fails.Fail(time.Now())
		if fails.Failures() == 1 && ctx.Err() == nil {
			s.e.o.Logger.Warn("the lease is not watched; it is read every RetryPeriod", "err", err)
		}
		if run.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// watchOnce runs one watch. It returns the error that ended it, and whether it was open.
func (s *session) watchOnce(ctx context.Context, c *client.Live) (opened bool, err error) {
	key := s.core.o.key()
	w, err := client.Watch[coordinationv1.Lease](ctx, c, client.InNamespace(key.Namespace), client.FieldSelector("metadata.name="+key.Name))
	if err != nil {
		return false, err
	}
	defer w.Stop()
	s.post(input{event: watching})
	defer s.post(input{event: unwatched})
	for ev, err := range w.Events() {
		if err != nil {
			return true, err
		}
		if l := ev.Object; l == nil || l.Name != key.Name {
			continue
		}
		in := input{event: observed, lease: ev.Object}
		if ev.Type == watch.Deleted {
			in.event = deleted
		}
		s.post(in)
	}
	return true, nil
}
