package client

import (
	"context"
	"net/url"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// Feed lists and watches one kind and returns the bytes; a reflector runs on it. It keeps no state: a
// Feed of a kind that is not served yet works as soon as the kind is served.
//
// A Feed sends each request once. If the server answers 429 or 503, the error has the delay
// ([RetryAfter]), and the caller decides. Only after a 401 does it read the credentials again and retry.
type Feed struct {
	c    *Live
	kind *wire.Kind
	sel  Selection
}

// Feed returns the feed of a kind. It sends nothing.
func (c *Live) Feed(gvk schema.GroupVersionKind, sel Selection) *Feed {
	return &Feed{c: c, kind: &wire.Kind{GVK: gvk, Scheme: c.scheme, MetadataOnly: sel.MetadataOnly}, sel: sel}
}

// List asks for a list, or for a page of one, and returns when the header of the answer has arrived.
// The caller reads the list and closes it.
//
// Errors of List are those of the package: [NotServedError] while the kind is absent, [ForbiddenError],
// [TooManyRequestsError], [UnavailableError], [GoneError] for an expired token and so on.
// Reading the list returns the errors of package wire. They wrap an [UnavailableError] or a
// [TimeoutError] if the connection breaks.
func (f *Feed) List(ctx context.Context, q wire.ListQuery) (*wire.List, error) {
	o := ListOptions{
		Selection: f.sel,
		Limit:     q.Limit, Continue: q.Continue, ResourceVersion: q.ResourceVersion, Match: q.Match,
	}
	return open(ctx, f, verbList, listQuery(&o), wire.NewList)
}

// Watch asks for a watch with bookmarks and returns when the header of the answer has arrived. The
// caller reads the watch and closes it. Watch has no limit on silence: the caller knows when a bookmark
// is due.
//
// Errors are those of [Feed.List]. A server without streaming lists answers with an [InvalidError] or a
// [RejectedError], or with a watch that lacks the closing bookmark. An ERROR event is a frame with a
// Status.
func (f *Feed) Watch(ctx context.Context, q wire.WatchQuery) (*wire.Watch, error) {
	o := ListOptions{Selection: f.sel, ResourceVersion: q.ResourceVersion}
	query := listQuery(&o)
	watchParameters(query, q)
	return open(ctx, f, verbWatch, query, wire.NewWatch)
}

func watchParameters(query url.Values, q wire.WatchQuery) {
	query.Set("watch", "true")
	query.Set("allowWatchBookmarks", "true")
	if q.SendInitialEvents {
		query.Set("sendInitialEvents", "true")
		query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan))
	}
	if q.Timeout > 0 {
		query.Set("timeoutSeconds", strconv.FormatInt(max(1, int64(q.Timeout/time.Second)), 10))
	}
}

// open maps the kind at each call, so that it finds a kind that the server begins to serve later.
func open[S any](ctx context.Context, f *Feed, verb string, query url.Values, split splitter[S]) (*S, error) {
	if err := watchable(&f.sel); err != nil {
		return nil, err
	}
	t, err := f.c.resolve(ctx, verb, f.kind.GVK, object.Key{Namespace: f.sel.Namespace}, "", true)
	if err != nil {
		return nil, err
	}
	t.call.Initial = query.Has("sendInitialEvents")
	enc := wire.JSON
	if wire.HasProtobuf(f.kind.GoType()) {
		enc = wire.Protobuf
	}
	s, _, err := stream(ctx, f.c, t, f.kind, enc, request{query: query, direct: true, stream: verb == verbWatch}, split)
	return s, err
}
