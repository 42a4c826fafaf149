package flyball

import (
	"context"
	"sync"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// Subscribe calls fn with every change of a kind, on the goroutine that applied it; see
// [controller.Manager]. The watch is shared with all others of the kind.
func (m *Manager) Subscribe(ctx context.Context, proto object.Object, name string, fn func(store.Change)) (controller.Subscription, error) {
	h, err := m.cache.Open(ctx, proto, informer.Selection{Namespace: m.o.Namespace})
	if err != nil {
		return nil, err
	}
	in := h.Informer()
	r, err := in.Subscribe(name, fn)
	if err != nil {
		h.Close()
		return nil, err
	}
	return &subscription{handle: h, informer: in, Registration: r}, nil
}

type subscription struct {
	*informer.Registration
	handle   *cache.Handle
	informer *informer.Informer
	close    sync.Once
}

// Err implements controller.Subscription.
func (s *subscription) Err() error { return s.informer.State().Watch.Err }

// Close implements controller.Subscription.
func (s *subscription) Close() {
	s.close.Do(func() {
		s.RemoveAndWait(context.Background())
		s.handle.Close()
	})
}
