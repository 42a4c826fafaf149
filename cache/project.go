package cache

import (
	"context"
	"fmt"
	"iter"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/wire"
)

var _ client.Projector = (*Cache)(nil)

// Project implements client.Projector. It reads the fields from the stored bytes and builds no
// object. Errors are those of Get, and *wire.ProjectionError. A kind without a Go type may also
// return *wire.DecodeError, if a field does not have the type that the view expects.
func (c *Cache) Project(ctx context.Context, key object.Key, proto object.Object, view any, o client.GetOptions) error {
	in, h, err := c.holder(ctx, key, proto, o)
	if err != nil {
		return err
	}
	p, err := h.projection(in, view)
	if err != nil {
		return err
	}
	return h.explainMissing(key, in.ProjectKey(key, p, view, readOptions(o.EvenUnavailable)...))
}

// projection returns the projection onto view, from the cache if possible.
func (h *openKind) projection(in *informer.Informer, view any) (*wire.Projection, error) {
	if p, ok := h.views.Load(reflect.TypeOf(view)); ok {
		return p.(*wire.Projection), nil
	}
	p, err := in.Projection(view)
	if err == nil {
		h.views.Store(reflect.TypeOf(view), p)
	}
	return p, err
}

// ProjectList implements client.Projector. Errors are those of List, and *wire.ProjectionError.
func (c *Cache) ProjectList(ctx context.Context, proto object.Object, view any, o client.ListOptions) iter.Seq[error] {
	return func(yield func(error) bool) {
		h, err := c.resolve(ctx, proto, o.Kind)
		if err != nil {
			yield(err)
			return
		}
		p, err := h.projection(h.shares[0].Informer(), view)
		if err != nil {
			yield(err)
			return
		}
		for f, err := range c.find(ctx, proto, o) {
			if err == nil {
				err = f.in.Project(f.entry, p, view)
			}
			if !yield(err) {
				return
			}
		}
	}
}

// IndexView declares an index of a kind by a function of a view. It is like IndexField, but builds
// no objects; see [client.Project]. The kind needs no Go type.
//
//	cache.IndexView(c, podKind, "image", func(p *podImages) []string { … })
//
// Errors: *wire.ProjectionError, *store.IndexExistsError, store.ErrBadIndex.
func IndexView[V any](c *Cache, gvk schema.GroupVersionKind, name string, f func(*V) []string) error {
	if f == nil {
		return fmt.Errorf("cache: index %q of %s: %w", name, gvk.Kind, store.ErrBadIndex)
	}
	index, err := informer.IndexViewFunc(c.goType(gvk), f)
	if err != nil {
		return fmt.Errorf("cache: index %q of %s: %w", name, gvk.Kind, err)
	}
	return c.index(gvk, name, index)
}

// goType returns the Go type that the scheme has for a kind, or nil.
func (c *Cache) goType(gvk schema.GroupVersionKind) reflect.Type {
	if c.conn.Scheme == nil {
		return nil
	}
	return c.conn.Scheme.AllKnownTypes()[gvk]
}
