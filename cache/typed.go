package cache

import (
	"context"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
)

// Typed is a Handle to a kind with a Go type, for a program of handlers and listers:
//
//	deployments, err := cache.Open[appsv1.Deployment](ctx, c)
//	_, err = deployments.AddHandler(informer.Handler[appsv1.Deployment]{OnAdd: …})
//	d, err := deployments.Lister().Get(key)
type Typed[T any] struct {
	*Handle
	add    func(*informer.Informer, informer.Handler[T]) (*informer.Registration, error)
	lister informer.Lister[T]
}

// Open opens the kind of a Go type, as [Cache.Open] does with the zero Selection.
//
// Errors: *object.UnknownKindError, and those of Connection.Mapping.
func Open[T any, P object.Ptr[T]](ctx context.Context, c *Cache) (*Typed[T], error) {
	h, err := c.Open(ctx, P(new(T)), client.Selection{})
	if err != nil {
		return nil, err
	}
	lister, err := informer.NewLister[T, P](h.Informer())
	if err != nil {
		h.Close()
		return nil, err
	}
	return &Typed[T]{Handle: h, add: informer.AddHandler[T, P], lister: lister.Over(h.Informers)}, nil
}

// AddHandler adds a handler to every informer of the handle; see [informer.AddHandler]. With several
// namespaces, calls of different namespaces may overlap. A cache that runs again needs its handlers
// again.
func (t *Typed[T]) AddHandler(h informer.Handler[T]) (*Subscription, error) {
	return register(t.Informers(), func(in *informer.Informer) (*informer.Registration, error) { return t.add(in, h) })
}

// Lister reads the held objects. It goes on to do so when the cache runs again.
func (t *Typed[T]) Lister() informer.Lister[T] { return t.lister }
