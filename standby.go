package flyball

import (
	"context"
	"log/slog"
	"time"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
)

// standby keeps the kinds of a controller in the cache, on every replica, so that the one that
// takes over begins with what is there.
type standby struct {
	kinds  func() []object.Object
	cache  *cache.Cache
	logger *slog.Logger
}

// openAgain is after how long a kind that could not be opened is tried again.
const openAgain = 5 * time.Second

// Run holds the kinds until ctx ends.
func (s *standby) Run(ctx context.Context) error {
	var held []*cache.Handle
	defer func() {
		for _, h := range held {
			h.Close()
		}
	}()
	said := false
	for wanted := s.kinds(); !done(ctx); run.Sleep(ctx, openAgain) {
		var missing []object.Object
		for _, kind := range wanted {
			h, err := s.cache.Open(ctx, kind, client.Selection{})
			if err == nil {
				held = append(held, h)
				continue
			}
			missing = append(missing, kind)
			if !said && !done(ctx) {
				said = true
				s.logger.Warn("a kind cannot be kept ready for a take-over, trying again", "kind", kind.GetObjectKind().GroupVersionKind(), "err", err)
			}
		}
		if wanted = missing; len(wanted) == 0 {
			<-ctx.Done()
		}
	}
	return nil
}
