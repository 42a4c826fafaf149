package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// Get implements [Reader].
func (c *Live) Get(ctx context.Context, key object.Key, into object.Object, o GetOptions) error {
	raw, err := c.fetch(ctx, key, into, o)
	if err != nil {
		return err
	}
	if err := raw.Decode(into); err != nil {
		return err
	}
	c.originals.note(raw, into)
	return nil
}

// fetch reads the object of a Get and returns its bytes.
func (c *Live) fetch(ctx context.Context, key object.Key, proto object.Object, o GetOptions) (wire.Raw, error) {
	gvk, err := kindOf(verbGet, c.scheme, proto, o.Kind)
	if err != nil {
		return wire.Raw{}, err
	}
	parent := gvk
	if !o.Parent.Empty() && o.Subresource == "" {
		return wire.Raw{}, &ArgumentError{Call: Call{Verb: verbGet}, Argument: "Parent", Problem: "is for subresources only"}
	}
	if !o.Parent.Empty() {
		parent = o.Parent
	}
	if key.Name == "" {
		return wire.Raw{}, badKey(verbGet, parent, key, "name is empty")
	}
	t, err := c.resolve(ctx, verbGet, parent, key, o.Subresource, false)
	if err != nil {
		return wire.Raw{}, err
	}
	q := url.Values{}
	if o.ResourceVersion != "" {
		q.Set("resourceVersion", o.ResourceVersion)
	}
	kind := c.wireKind(gvk, proto)
	resp, err := c.get(ctx, t, kind, encodingFor(proto), request{query: q})
	if err != nil {
		return wire.Raw{}, err
	}
	return t.read(kind, resp)
}

// get sends a read of objects of a kind, in enc if the server has it.
func (c *Live) get(ctx context.Context, t *target, kind *wire.Kind, enc wire.Encoding, r request) (*http.Response, error) {
	r.call, r.method, r.path = t.call, http.MethodGet, t.path()
	return c.send(ctx, t, func(plain bool) (*request, error) {
		r.accept = accept(kind, enc, t.call.Verb, plain)
		return &r, nil
	})
}

// splitter is [wire.NewList] or [wire.NewWatch].
type splitter[S any] func(io.ReadCloser, string, *wire.Kind, wire.Limits) (*S, error)

// stream sends a read whose answer is split into objects.
func stream[S any](ctx context.Context, c *Live, t *target, kind *wire.Kind, enc wire.Encoding, r request, split splitter[S]) (*S, *http.Response, error) {
	resp, err := c.get(ctx, t, kind, enc, r)
	if err != nil {
		return nil, nil, err
	}
	s, err := split(resp.Body, resp.Header.Get("Content-Type"), kind, wire.Limits{})
	if err != nil {
		return nil, nil, streamError(t.call, resp, err)
	}
	return s, resp, nil
}

// wireKind describes the answer to package wire.
func (c *Live) wireKind(gvk schema.GroupVersionKind, o object.Object) *wire.Kind {
	return &wire.Kind{GVK: gvk, Scheme: c.scheme, MetadataOnly: formOf(o) == metadataForm}
}

// document sends a request for a small JSON document once, and reads the answer into a value.
func (l *link) document(ctx context.Context, r *request, into any, check func() error) error {
	r.method, r.direct = http.MethodGet, true
	resp, err := l.send(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, _, err = wire.ParseContentType(resp.Header.Get("Content-Type")); err == nil {
		err = json.NewDecoder(io.LimitReader(resp.Body, maxStatus)).Decode(into)
	}
	if err == nil {
		err = check()
	}
	if err != nil {
		return badAnswer(r.call, resp, err)
	}
	return nil
}

// selectorQuery is the part of a query that selects objects.
func selectorQuery(o *Selection) url.Values {
	q := url.Values{}
	if o.Labels != nil && !o.Labels.Empty() {
		q.Set("labelSelector", o.Labels.String())
	}
	if o.Fields != nil && !o.Fields.Empty() {
		q.Set("fieldSelector", o.Fields.String())
	}
	return q
}

// selects reports whether any object can match. A selector that matches nothing has an empty text.
// The server selects everything by an empty text. Invalid label keys and values are an
// *ArgumentError: the server reads a comma in a value as another requirement. So is [OwnedBy].
func selects(o *Selection) (bool, error) {
	if o.Fields == fields.Nothing() {
		return false, nil
	}
	if o.Fields != nil {
		if _, owned := o.Fields.RequiresExactMatch(wire.OwnerUIDs); owned {
			return false, badSelector(o.Fields.String(), wire.ErrNoOwners)
		}
	}
	if o.Labels == nil {
		return true, nil
	}
	all, selectable := o.Labels.Requirements()
	for _, r := range all {
		if _, err := labels.NewRequirement(r.Key(), r.Operator(), r.ValuesUnsorted()); err != nil {
			return false, badSelector(o.Labels.String(), err)
		}
	}
	return selectable, nil
}

var errNothing = errors.New("matches nothing")

// watchable returns an error for a selection that cannot be watched.
func watchable(o *Selection) error {
	some, err := selects(o)
	if err == nil && !some {
		err = badSelector("", errNothing)
	}
	return err
}

// listQuery is the whole query of one page.
func listQuery(o *ListOptions) url.Values {
	q := selectorQuery(&o.Selection)
	if o.Limit > 0 {
		q.Set("limit", strconv.FormatInt(o.Limit, 10))
	}
	if o.Continue != "" {
		// The token carries the version of its list; the server refuses another beside it.
		q.Set("continue", o.Continue)
		return q
	}
	if o.ResourceVersion != "" {
		q.Set("resourceVersion", o.ResourceVersion)
	}
	if o.Match != "" {
		q.Set("resourceVersionMatch", string(o.Match)) // the server refuses it without a version
	}
	return q
}
