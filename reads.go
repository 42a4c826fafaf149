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

// reads implements Manager.Client. The cache answers reads of the kinds that it holds. The server answers
// reads of other kinds, of subresources, of the state at or after a version, and live reads.
type reads struct {
	client.Client // live, for all but reads
	live          *client.Live
	cache         *cache.Cache
	onLive        func(schema.GroupVersionKind)
}

var _ client.PartialReader = (*reads)(nil)

// Get implements client.Reader.
func (r *reads) Get(ctx context.Context, key object.Key, into object.Object, o client.GetOptions) error {
	return r.one(key, o, func(from client.PartialReader) error { return from.Get(ctx, key, into, o) })
}

// Project implements client.PartialReader.
func (r *reads) Project(ctx context.Context, key object.Key, proto object.Object, view any, o client.GetOptions) error {
	return r.one(key, o, func(from client.PartialReader) error { return from.Project(ctx, key, proto, view, o) })
}

// one reads one object from the cache or from the server.
func (r *reads) one(key object.Key, o client.GetOptions, read func(from client.PartialReader) error) error {
	if o.Live || o.Subresource != "" || isVersion(o.ResourceVersion) {
		return read(r.live)
	}
	err := read(r.cache)
	if r.uncached(err, key.Namespace) {
		return read(r.live)
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
			if r.uncached(err, o.Namespace) { // such an error comes first and alone
				r.live.List(ctx, proto, o)(yield)
				return
			}
			if !yield(obj, err) {
				return
			}
		}
	}
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

// Page implements client.PartialReader.
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

// uncached reports whether the server answers a read of namespace that the cache answered with err: the
// cache does not hold the kind, or was never able to list it. It counts the read.
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

// barred reports whether the cache was never able to list the kind: it is forbidden, not served, or cannot be
// watched. It is false for a cache that is restricted to selectors or to another namespace. The server would answer
// another question than the cache.
func barred(e *informer.NotSyncedError, namespace string) bool {
	p, sel := e.State.Watch.Phase, e.Selection
	never := p == reflector.Forbidden || p == reflector.NotFound || errors.Is(e.State.Err, reflector.ErrNoVersion)
	return never && !e.State.Synced &&
		sel.Labels == nil && sel.Fields == nil && (sel.Namespace == "" || sel.Namespace == namespace)
}

// isVersion reports whether v is a version that the answer must have reached; "" and "0" allow any.
func isVersion(v string) bool { return v != "" && v != "0" }
