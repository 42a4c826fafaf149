package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/wire"
)

// Feed lists and watches one kind and returns the bytes; a reflector runs on it. It keeps no state: a
// Feed of a kind that is not served yet works as soon as the kind is served.
//
// A Feed sends each request once. If the server answers 429 or 503, the error has the delay
// ([RetryAfter]), and the caller decides. Only after a 401 does it read the credentials again and retry.
type Feed struct {
	c    *Live
	kind *wire.Kind
	meta *wire.Kind // the same kind, metadata only
	sel  Selection
}

// Feed returns the feed of a kind. It sends nothing.
func (c *Live) Feed(gvk schema.GroupVersionKind, sel Selection) *Feed {
	f := &Feed{c: c, kind: &wire.Kind{GVK: gvk, Scheme: c.scheme, MetadataOnly: sel.MetadataOnly}, sel: sel}
	if f.meta = f.kind; !sel.MetadataOnly {
		f.meta = &wire.Kind{GVK: gvk, Scheme: c.scheme, MetadataOnly: true}
	}
	return f
}

// Kind is the kind of the objects. Every [wire.Raw] of this Feed points to it.
func (f *Feed) Kind() *wire.Kind { return f.kind }

// ListQuery says which state a list shows, and which page of it to read.
type ListQuery struct {
	// ResourceVersion and Match are as the API defines them: "" is the latest state, "0" any.
	ResourceVersion string
	Match           metav1.ResourceVersionMatch
	// Limit is the maximum number of objects in the answer. Zero or negative: no limit.
	Limit int64
	// Continue is the token of the previous page. ResourceVersion must then be empty.
	Continue string
}

// List asks for a list, or for a page of one, and returns when the header of the answer has arrived.
// The caller reads the list and closes it.
//
// Errors of List are those of the package: [NotServedError] while the kind is absent, [ForbiddenError],
// [TooManyRequestsError], [UnavailableError], [GoneError] for an expired token, [IsTooLarge] and so on.
// Reading the list returns the errors of package wire. They wrap an [UnavailableError] or a
// [TimeoutError] if the connection breaks.
func (f *Feed) List(ctx context.Context, q ListQuery) (*wire.List, error) {
	return f.list(ctx, f.kind, q)
}

// ListMetadata is List for the metadata of the same objects. A server without such lists answers with
// code 406, a [RejectedError], or with whole objects: see [wire.ListMeta].Metadata.
func (f *Feed) ListMetadata(ctx context.Context, q ListQuery) (*wire.List, error) {
	return f.list(ctx, f.meta, q)
}

func (f *Feed) list(ctx context.Context, kind *wire.Kind, q ListQuery) (*wire.List, error) {
	o := ListOptions{
		Selection: f.sel,
		Limit:     q.Limit, Continue: q.Continue, ResourceVersion: q.ResourceVersion, Match: q.Match,
	}
	call, resp, err := f.send(ctx, kind, verbList, listQuery(&o))
	if err != nil {
		return nil, err
	}
	list, err := wire.NewList(resp.Body, resp.Header.Get("Content-Type"), kind, wire.Limits{})
	if err != nil {
		return nil, streamError(call, resp, err)
	}
	return list, nil
}

// WatchQuery says where a watch starts.
type WatchQuery struct {
	// ResourceVersion is the version after which the events start. Empty or "0": the server first
	// sends the objects that exist, as Added events.
	ResourceVersion string
	// SendInitialEvents asks for a streaming list. The server sends all objects as Added events, in
	// a state not older than ResourceVersion, then a bookmark with InitialEventsEnd, then the
	// watch.
	SendInitialEvents bool
	// Timeout is when the server ends the watch, in whole seconds. Zero: the server chooses, some
	// 30 to 60 minutes.
	Timeout time.Duration
}

// Watch asks for a watch with bookmarks and returns when the header of the answer has arrived. The
// caller reads the watch and closes it. Watch has no limit on silence: the caller knows when a bookmark
// is due.
//
// Errors are those of [Feed.List]. A server without streaming lists answers with an [InvalidError] or a
// [RejectedError], or with a watch that lacks the closing bookmark. An ERROR event is a frame with a
// Status.
func (f *Feed) Watch(ctx context.Context, q WatchQuery) (*wire.Watch, error) {
	o := ListOptions{Selection: f.sel, ResourceVersion: q.ResourceVersion}
	query := listQuery(&o)
	watchParameters(query, q)
	call, resp, err := f.send(ctx, f.kind, verbWatch, query)
	if err != nil {
		return nil, err
	}
	watch, err := wire.NewWatch(resp.Body, resp.Header.Get("Content-Type"), f.kind, wire.Limits{})
	if err != nil {
		return nil, streamError(call, resp, err)
	}
	return watch, nil
}

func watchParameters(query url.Values, q WatchQuery) {
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

// send maps the kind at each call, so that it finds a kind that the server begins to serve later.
func (f *Feed) send(ctx context.Context, kind *wire.Kind, verb string, query url.Values) (Call, *http.Response, error) {
	if err := watchable(&f.sel); err != nil {
		return Call{}, nil, err
	}
	t, err := f.c.resolve(ctx, verb, f.kind.GVK, object.Key{Namespace: f.sel.Namespace}, "", true)
	if err != nil {
		return Call{}, nil, err
	}
	t.call.Initial = query.Has("sendInitialEvents")
	t.aside = kind != f.kind
	resp, err := f.c.send(ctx, t, func(plain bool) (*request, error) {
		return &request{
			call: t.call, method: http.MethodGet, path: t.path(), query: query,
			accept: accept(kind, verb, plain), direct: true, stream: verb == verbWatch,
		}, nil
	})
	return t.call, resp, err
}

// accept is the Accept header for a kind. It asks for protobuf if the scheme has a Go type to decode.
func accept(kind *wire.Kind, verb string, plain bool) string {
	switch {
	case kind.MetadataOnly && verb == verbWatch:
		return acceptFor(&metav1.PartialObjectMetadata{}, plain)
	case kind.MetadataOnly:
		return acceptList(&metav1.PartialObjectMetadata{}, plain)
	case plain || !wire.HasProtobuf(kind.GoType()):
		return wire.AcceptJSON
	}
	return wire.AcceptProtobuf
}
