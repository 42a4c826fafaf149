package flyball

import (
	"context"
	"iter"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// reads is a client that reads from the cache what is cached and from the server what is not.
type reads struct {
	client.Client
	live   *client.Live
	cache  *cache.Cache
	onLive func(goType string)
}

var _ client.Pager = (*reads)(nil)

// Get implements client.Reader. Subresources, and a read that must not be older than a version,
// are for the server to answer.
func (r *reads) Get(ctx context.Context, key object.Key, into object.Object, o client.GetOptions) error {
	panic("soon")
}

// List implements client.Reader.
func (r *reads) List(ctx context.Context, proto object.Object, o client.ListOptions) iter.Seq2[object.Object, error] {
	panic("soon")
}

// Page implements client.Pager: pages are read from the server.
func (r *reads) Page(ctx context.Context, proto object.Object, o client.ListOptions) (client.Page[object.Object], error) {
	return r.live.Page(ctx, proto, o)
}

func newCache(o Options, live *client.Live) (*cache.Cache, error) { return &cache.Cache{}, nil }
