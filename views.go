package flyball

import (
	"context"
	"iter"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// Project implements client.PartialReader. It reads where Get does.
func (r *reads) Project(ctx context.Context, key object.Key, proto object.Object, view any, o client.GetOptions) error {
	if o.Live || o.Subresource != "" || isVersion(o.ResourceVersion) {
		return r.live.Project(ctx, key, proto, view, o)
	}
	err := r.cache.Project(ctx, key, proto, view, o)
	if r.uncached(err, key.Namespace) {
		return r.live.Project(ctx, key, proto, view, o)
	}
	return err
}

// ProjectList implements client.PartialReader. It reads where List does.
func (r *reads) ProjectList(ctx context.Context, proto object.Object, view any, o client.ListOptions) iter.Seq[error] {
	if isVersion(o.ResourceVersion) {
		return r.live.ProjectList(ctx, proto, view, o)
	}
	return func(yield func(error) bool) {
		for err := range r.cache.ProjectList(ctx, proto, view, o) {
			if r.uncached(err, o.Namespace) { // such an error comes first and alone
				r.live.ProjectList(ctx, proto, view, o)(yield)
				return
			}
			if !yield(err) {
				return
			}
		}
	}
}
