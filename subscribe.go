package flyball

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/internal/readiness"
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
	return &readiness.ClusterError{Cluster: m.cluster, Err: err}
}

// following is the mapper of a client: it follows the server.
type following interface {
	meta.RESTMapper
	Mapping(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error)
	Known(gvk schema.GroupVersionKind) *meta.RESTMapping
}

// clusterMapper is the mapper of a further cluster. The errors of Mapping name the cluster.
type clusterMapper struct {
	following
	manager *Manager
}

func (c clusterMapper) Mapping(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	m, err := c.following.Mapping(ctx, gvk)
	return m, c.manager.inCluster(err)
}

// subscription is a subscription with the handle that keeps its kind open.
type subscription struct {
	*cache.Subscription
	handle  *cache.Handle
	manager *Manager
}

// Waiting implements controller.Subscription.
func (s subscription) Waiting() (watches map[string]error, of int) {
	watches, of = s.Subscription.Waiting()
	for namespace, err := range watches {
		watches[namespace] = s.manager.inCluster(err)
	}
	return watches, of
}

// Close implements controller.Subscription.
func (s subscription) Close() {
	s.Subscription.Close()
	s.handle.Close()
}
