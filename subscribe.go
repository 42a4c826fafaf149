package flyball

import (
	"context"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// Subscribe opens a kind in the cache and calls fn with every change of it, on the goroutine that applied
// the change; see [controller.Manager]. All users of a kind share one watch. It ends when the last of them
// is closed.
func (m *Manager) Subscribe(ctx context.Context, proto object.Object, name string, fn func(store.Change)) (controller.Subscription, error) {
	h, err := m.cache.Open(ctx, proto, client.Selection{})
	if err != nil {
		return nil, m.inCluster(err)
	}
	s, err := h.Subscribe(name, fn)
	if err != nil {
		h.Close()
		return nil, err
	}
	return subscription{s, h, m}, nil
}

// inCluster adds the name of a further cluster to an error.
func (m *Manager) inCluster(err error) error {
	if err == nil || m.cluster == "" {
		return err
	}
	return &clusterError{m.cluster, err}
}

// clusterError is an error of a watch in a further cluster.
type clusterError struct {
	cluster string
	err     error
}

func (e *clusterError) Error() string { return "cluster " + e.cluster + ": " + e.err.Error() }

func (e *clusterError) Unwrap() error { return e.err }

// subscription is a subscription with the handle that keeps its kind open.
type subscription struct {
	*cache.Subscription
	handle  *cache.Handle
	manager *Manager
}

// Err implements controller.Subscription.
func (s subscription) Err() error { return s.manager.inCluster(s.Subscription.Err()) }

// Close implements controller.Subscription.
func (s subscription) Close() {
	s.Subscription.Close()
	s.handle.Close()
}
