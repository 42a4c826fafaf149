package cache_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/feedtest"
	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) { leaktest.Main(servertest.Wrap(m)) }

var (
	types  = scheme.New()
	errEnd = errors.New("the test is over")
)

func kind(name string) schema.GroupVersionKind { return corev1.SchemeGroupVersion.WithKind(name) }

// cluster has a server for each kind and selection that is requested.
type cluster struct {
	mu      sync.Mutex
	servers map[string]*feedtest.Server
}

func newCluster() *cluster { return &cluster{servers: map[string]*feedtest.Server{}} }

func (c *cluster) server(kindName, selection string) *feedtest.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := strings.TrimSpace(kindName + " " + selection)
	s := c.servers[name]
	if s == nil {
		s = feedtest.New(&wire.Kind{
			GVK: kind(kindName), Scheme: types, MetadataOnly: strings.Contains(selection, "metadata-only"),
		})
		c.servers[name] = s
	}
	return s
}

// watches returns the number of open watches.
func (c *cluster) watches() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, s := range c.servers {
		_, _, open := s.Counts()
		n += open
	}
	return n
}

func (c *cluster) connection() cache.Connection {
	return cache.Connection{
		Scheme: types,
		Mapping: func(_ context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
			if _, known := types.AllKnownTypes()[gvk]; !known {
				return nil, &meta.NoKindMatchError{GroupKind: gvk.GroupKind()}
			}
			resource, _ := meta.UnsafeGuessKindToResource(gvk)
			scope := meta.RESTScopeNamespace
			if gvk.Kind == "Node" {
				scope = meta.RESTScopeRoot
			}
			return &meta.RESTMapping{Resource: resource, GroupVersionKind: gvk, Scope: scope}, nil
		},
		Source: func(gvk schema.GroupVersionKind, sel client.Selection) reflector.Source {
			return c.server(gvk.Kind, sel.String())
		},
	}
}

func newCache(t *testing.T, c *cluster, o cache.Options) *cache.Cache {
	t.Helper()
	o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	made, err := cache.New(c.connection(), o)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// start runs a cache until stop is called. stop returns the result of Run.
func start(c *cache.Cache) (stop func() error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	result := make(chan error, 1)
	go func() { result <- c.Run(ctx) }()
	return func() error { cancel(errEnd); return <-result }
}

// mapAny maps every kind to a namespaced resource.
func mapAny(_ context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	return &meta.RESTMapping{Resource: resource, GroupVersionKind: gvk, Scope: meta.RESTScopeNamespace}, nil
}
