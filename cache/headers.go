package cache

import (
	"context"
	"iter"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// Headers yields the metadata of what a List with these options yields, in the same order, and
// decodes nothing. So it is cheap enough for handlers, which are called with every change:
//
//	for d, err := range cache.Headers[appsv1.Deployment](ctx, c, client.InNamespace(pod.Namespace)) { … }
//
// Objects that were set aside are among them, if no field is asked for. The headers are shared:
// read only. Errors are those of List, and the last.
func Headers[T any, P object.Ptr[T]](ctx context.Context, c *Cache, opts ...client.ListOption) iter.Seq2[*object.Header, error] {
	return func(yield func(*object.Header, error) bool) {
		o, err := client.NewListOptions(opts...)
		if err != nil {
			yield(nil, err)
			return
		}
		for f, err := range c.find(ctx, P(new(T)), o) {
			var h *object.Header
			if err == nil {
				h = f.entry.Header()
			}
			if !yield(h, err) {
				return
			}
		}
	}
}
