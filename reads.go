package flyball

import (
	"context"
	"errors"
	"iter"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reflector"
)

// reads is a client that reads from the cache what is cached, and from the server what is not:
// kinds that nobody has opened, or that the cache was never let see, subresources, and what must
// not be older than a version or come from the server.
type reads struct {
	client.Client // the live one, for all but reads
	live          *client.Live
	cache         *cache.Cache
	onLive        func(schema.GroupVersionKind)
}

var _ client.Pager = (*reads)(nil)

// Get implements client.Reader.
func (r *reads) Get(ctx context.Context, key object.Key, into object.Object, o client.GetOptions) error {
	if o.Live || o.Subresource != "" || isVersion(o.ResourceVersion) {
		return r.live.Get(ctx, key, into, o)
	}
	err := r.cache.Get(ctx, key, into, o)
	if r.uncached(err, key.Namespace) {
		return r.live.Get(ctx, key, into, o)
	}
	return err
}

// List implements client.Reader.
func (r *reads) List(ctx context.Context, proto object.Object, o client.ListOptions) iter.Seq2[object.Object, error] {
	if isVersion(o.ResourceVersion) {
		return r.live.List(ctx, proto, o)
	}
	return func(yield func(object.Object, error) bool) {
		for obj, err := range r.cache.List(ctx, proto, o) {
			if r.uncached(err, o.Namespace) { // the first of the sequence, and its last
				r.live.List(ctx, proto, o)(yield)
				return
			}
			if !yield(obj, err) {
				return
			}
		}
	}
}

// Page implements client.Pager.
func (r *reads) Page(ctx context.Context, proto object.Object, o client.ListOptions) (client.Page[object.Object], error) {
	if isVersion(o.ResourceVersion) {
		return r.live.Page(ctx, proto, o)
	}
	page, err := r.cache.Page(ctx, proto, o)
	if r.uncached(err, o.Namespace) {
		return r.live.Page(ctx, proto, o)
	}
	return page, err
}

// uncached reports whether err says that the server is to be asked for what is in namespace, and
// has the read counted: nobody has opened the kind, or who did could never see it.
func (r *reads) uncached(err error, namespace string) bool {
	var kind schema.GroupVersionKind
	if undeclared, ok := errors.AsType[*cache.UndeclaredError](err); ok {
		kind = undeclared.Kind
	} else if unsynced, ok := errors.AsType[*informer.NotSyncedError](err); ok && barred(unsynced, namespace) {
		kind = unsynced.Kind
	} else {
		return false
	}
	if r.onLive != nil {
		r.onLive(kind)
	}
	return true
}

// barred reports whether the cache has never seen what it would answer from, since it may not list
// it or the server does not serve it, and the server would answer the same question: not one about
// more namespaces, or other objects, than the cache was to hold.
func barred(e *informer.NotSyncedError, namespace string) bool {
	p, sel := e.State.Watch.Phase, e.Selection
	return (p == reflector.Forbidden || p == reflector.NotFound) && !e.State.Synced &&
		sel.Labels == nil && sel.Fields == nil && (sel.Namespace == "" || sel.Namespace == namespace)
}

// isVersion tells a version that an answer must have reached from those that allow any.
func isVersion(v string) bool { return v != "" && v != "0" }
