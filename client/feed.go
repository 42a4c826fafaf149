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

// Feed lists and watches one kind and gives out the bytes: what a reflector runs on. It keeps no
// state, so a Feed of a kind that is not served yet works once it is. Its requests are tried
// once: when the server says 429 or 503 the error has the delay ([RetryAfter]), and the caller
// has the policy. Only a 401 is tried again, with the credentials read anew.
type Feed struct {
	c    *Live
	kind *wire.Kind
	meta *wire.Kind // the kind, as metadata only
	sel  Selection
}

// Feed makes the feed of a kind. It does not talk to the server.
func (c *Live) Feed(gvk schema.GroupVersionKind, sel Selection) *Feed {
	f := &Feed{c: c, kind: &wire.Kind{GVK: gvk, Scheme: c.scheme, MetadataOnly: sel.MetadataOnly}, sel: sel}
	if f.meta = f.kind; !sel.MetadataOnly {
		f.meta = &wire.Kind{GVK: gvk, Scheme: c.scheme, MetadataOnly: true}
	}
	return f
}

// Kind of the objects. It is the one that their [wire.Raw] points to.
func (f *Feed) Kind() *wire.Kind { return f.kind }

// ListQuery says from when a list is, and which part of it to read.
type ListQuery struct {
	// ResourceVersion and Match as the API defines them: "" is the latest state, "0" any.
	ResourceVersion string
	Match           metav1.ResourceVersionMatch
	// Limit is the most objects in the answer; zero or negative: all in one.
	Limit int64
	// Continue is the token of the page before; the version must not be given again.
	Continue string
}

// List asks for a list, or a page of one, and returns when the header of the answer is there. The
// caller reads the list and closes it.
//
// Errors of List are those of the package: [NotServedError] where the kind is absent (it may come),
// [ForbiddenError], [TooManyRequestsError], [UnavailableError], [GoneError] for an expired token, [IsTooLarge], and
// so on. Errors of reading the list are those of package wire; a connection that breaks
// meanwhile is an [UnavailableError] or a [TimeoutError] in them.
func (f *Feed) List(ctx context.Context, q ListQuery) (*wire.List, error) {
	return f.list(ctx, f.kind, q)
}

// ListMetadata is List of the metadata of the same objects. A server that has no such lists says so
// with a [RejectedError] of code 406, or answers with whole objects: see [wire.ListMeta].Metadata.
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

// WatchQuery says from when a watch is.
type WatchQuery struct {
	// ResourceVersion after which the events begin. Empty or "0": the server sends what there is
	// first, as Added events.
	ResourceVersion string
	// SendInitialEvents asks for a streaming list: all objects as Added events, not older than
	// ResourceVersion, then a bookmark with InitialEventsEnd, then the watch.
	SendInitialEvents bool
	// Timeout after which the server ends the watch. Zero: the server chooses, some 30 to 60
	// minutes. Whole seconds.
	Timeout time.Duration
}

// Watch asks for a watch with bookmarks and returns when the header of the answer is there. The
// caller reads the watch and closes it. Nothing here notices a silent connection: the caller
// knows when a bookmark is due.
//
// Errors are as for [Feed.List]; a server that has no streaming lists answers with an [InvalidError]
// or a [RejectedError], or just watches, without the closing bookmark. An ERROR event comes as a frame
// with a Status.
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

// send maps the kind at the time of the call, so that one that comes later is found.
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

// accept asks for protobuf where the scheme has a Go type to read it into.
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
