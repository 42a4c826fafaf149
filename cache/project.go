package cache

import (
	"context"
	"iter"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// Project implements client.PartialReader. It reads the fields from the stored bytes and builds no
// object. Errors are those of Get, and *wire.ProjectionError. A kind without a Go type may also
// return *wire.DecodeError, if a field does not have the type that the view expects.
func (c *Cache) Project(ctx context.Context, key object.Key, proto object.Object, view any, o client.GetOptions) error {
	in, h, err := c.holder(ctx, key, proto, o)
	if err != nil {
		return err
	}
	return h.explainMissing(key, in.ProjectKey(key, view, readOptions(o.EvenUnavailable)...))
}

// ProjectList implements client.PartialReader. Errors are those of List, and *wire.ProjectionError.
func (c *Cache) ProjectList(ctx context.Context, proto object.Object, view any, o client.ListOptions) iter.Seq[error] {
	return func(yield func(error) bool) {
		h, err := c.resolve(ctx, proto, o.Kind)
		if err != nil {
			yield(err)
			return
		}
		if err := h.shares[0].informer().CheckView(view); err != nil {
			yield(err)
			return
		}
		_, all, err := c.find(ctx, proto, o)
		if err != nil {
			yield(err)
			return
		}
		for f := range all {
			if !yield(f.Informer.Project(f.Entry, view)) {
				return
			}
		}
	}
}
