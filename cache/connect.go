package cache

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reflector"
)

// Connection finds kinds and watches them. Connect makes the usual one.
type Connection struct {
	// Scheme has the Go types of the kinds.
	Scheme *runtime.Scheme
	// Mapping returns the resource that serves a kind. A kind that is not served, by an error for
	// which meta.IsNoMatchError holds, is watched all the same: it may come.
	Mapping func(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error)
	// Source returns the list and watch of a selection. It sends nothing to the server.
	Source func(gvk schema.GroupVersionKind, sel client.Selection) reflector.Source
}

// Connect returns the connection of a client.
func Connect(c *client.Live) Connection {
	return Connection{
		Scheme:  c.Scheme(),
		Mapping: c.Mapping,
		Source: func(gvk schema.GroupVersionKind, sel client.Selection) reflector.Source {
			return c.Feed(gvk, sel)
		},
	}
}

// resolve returns the kind of an object. It may ask the server. A kind that is not served counts as
// namespaced, and its resource is guessed.
func (c Connection) resolve(ctx context.Context, o object.Object) (informer.Kind, error) {
	gvk, err := object.KindOf(c.Scheme, o)
	if err != nil {
		return informer.Kind{}, err
	}
	m, err := c.Mapping(ctx, gvk)
	switch {
	case err == nil:
		return informer.Kind{GVK: gvk, Resource: m.Resource, ClusterScoped: m.Scope.Name() == meta.RESTScopeNameRoot}, nil
	case meta.IsNoMatchError(err):
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		return informer.Kind{GVK: gvk, Resource: resource}, nil
	}
	return informer.Kind{}, fmt.Errorf("kind %s: %w", gvk.Kind, err)
}
