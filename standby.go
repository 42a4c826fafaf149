package flyball

import (
	"context"
	"fmt"
	"time"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
)

// standby keeps the kinds of a controller in the cache on every replica. A replica that takes over begins
// with a cache that has synced.
type standby struct {
	cluster    *Manager
	controller controller.Interface
	in         controller.Manager // cluster; nil if it is that of the controller
}

// reopenAfter is the wait before a kind that could not be opened is tried again.
const reopenAfter = 5 * time.Second

// Run holds the kinds open until ctx ends.
func (s *standby) Run(ctx context.Context) error {
	var held []*cache.Handle
	defer func() {
		for _, h := range held {
			h.Close()
		}
	}()
	logged := false
	for wanted := s.controller.Kinds(s.in); ctx.Err() == nil; run.Sleep(ctx, reopenAfter) {
		var missing []object.Object
		for _, kind := range wanted {
			h, err := s.cluster.cache.Open(ctx, kind, client.Selection{})
			if err == nil {
				held = append(held, h)
				continue
			}
			missing = append(missing, kind)
			if !logged && ctx.Err() == nil {
				logged = true
				s.cluster.logger.Warn("a kind cannot be kept ready for a take-over, trying again", "kind", s.kind(kind), "err", err)
			}
		}
		if wanted = missing; len(wanted) == 0 {
			<-ctx.Done()
		}
	}
	return nil
}

// kind names the kind of an object in the log.
func (s *standby) kind(o object.Object) string {
	gvk, err := object.KindOf(s.cluster.Scheme(), o)
	if err != nil {
		return fmt.Sprintf("%T", o)
	}
	return gvk.GroupKind().String()
}
