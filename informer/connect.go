package informer

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reflector"
)

// Connection is where a Factory finds kinds and watches them. Connect makes the usual one.
type Connection struct {
	// Scheme knows the Go types of the kinds.
	Scheme *runtime.Scheme
	// Mapping says which resource serves a kind. A kind that is not served, by an error for which
	// meta.IsNoMatchError holds, is watched all the same: it may come.
	Mapping func(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error)
	// Source is the list and watch of a selection. It does not talk to the server.
	Source func(gvk schema.GroupVersionKind, sel client.Selection) reflector.Source
}

// Connect is the connection of a client.
func Connect(c *client.Live) Connection {
	return Connection{
		Scheme: c.Scheme(),
		Mapping: func(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
			if m, ok := c.Mapper().(*client.Mapper); ok {
				return m.Mapping(ctx, gvk)
			}
			return c.Mapper().RESTMapping(gvk.GroupKind(), gvk.Version)
		},
		Source: func(gvk schema.GroupVersionKind, sel client.Selection) reflector.Source {
			return c.Feed(gvk, sel)
		},
	}
}

// Resolve finds out about the kind of an object. It may ask the server.
//
// A kind that is not served counts as namespaced, and its resource is guessed; it is not an error.
// An informer that is opened so watches the kind once it comes, and stays as it was opened: if the
// kind then turns out to be cluster-scoped, its objects are there under keys without a namespace,
// and those with one do not find them. Only to resolve and open it again, when it is served, makes
// it cluster-scoped.
func (c Connection) Resolve(ctx context.Context, o object.Object) (Kind, error) {
	gvk, err := object.KindOf(c.Scheme, o)
	if err != nil {
		return Kind{}, err
	}
	m, err := c.Mapping(ctx, gvk)
	switch {
	case err == nil:
		return Kind{GVK: gvk, Resource: m.Resource, ClusterScoped: m.Scope.Name() == meta.RESTScopeNameRoot}, nil
	case meta.IsNoMatchError(err):
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		return Kind{GVK: gvk, Resource: resource}, nil
	}
	return Kind{}, fmt.Errorf("informer of %s: %w", gvk.Kind, err)
}
