package cache

import (
	"context"
	"iter"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// Header returns the metadata of the object with that key, and decodes nothing. The header belongs
// to the caller. Errors are those of Get.
func Header[T any, P object.Ptr[T]](ctx context.Context, c *Cache, key object.Key, opts ...client.GetOption) (*object.Header, error) {
	var o client.GetOptions
	o.Apply(opts...)
	in, held, err := c.holder(ctx, key, wire.Prototype[T, P](o.Kind), o)
	if err != nil {
		return nil, err
	}
	h, err := in.Header(key, readOptions(o.EvenUnavailable)...)
	return h, held.explainMissing(key, err)
}

// Headers yields the metadata of the objects that a List with these options yields, in the same
// order. It decodes nothing, so handlers may call it at every change:
//
//	for d, err := range cache.Headers[appsv1.Deployment](ctx, c, client.InNamespace(pod.Namespace)) { … }
//
// It includes rejected objects, whose metadata are known. Where it is not known whether such an object is
// selected, it is a *store.RejectedError, and the sequence goes on: no index has it. The headers
// belong to the caller. Other errors are those of List, and end the sequence.
func Headers[T any, P object.Ptr[T]](ctx context.Context, c *Cache, opts ...client.ListOption) iter.Seq2[*object.Header, error] {
	return func(yield func(*object.Header, error) bool) {
		var o client.ListOptions
		if err := o.Apply(opts...); err != nil {
			yield(nil, err)
			return
		}
		q, all, err := c.find(ctx, wire.Prototype[T, P](o.Kind), o)
		if err != nil {
			yield(nil, err)
			return
		}
		for f := range all {
			if !yield(q.Header(f.Informer, f.Entry)) {
				return
			}
		}
	}
}
