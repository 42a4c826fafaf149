package cache

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// plan says where to look for what a list asks for, and for what; nowhere if nothing can match.
func (c *Cache) plan(ctx context.Context, proto object.Object, o client.ListOptions) ([]*informer.Informer, informer.Query, error) {
	h, err := c.reads(ctx, proto, o.Kind)
	if err != nil {
		return nil, informer.Query{}, err
	}
	if err := h.honors(proto, o); err != nil {
		return nil, informer.Query{}, err
	}
	q := informer.Query{Namespace: o.Namespace, Labels: o.Labels, EvenUnavailable: o.EvenUnavailable}
	if h.kind.ClusterScoped {
		q.Namespace = ""
	}
	if q.After, err = after(o.Continue); err != nil {
		return nil, q, err
	}
	some, err := selectFields(&q, h.kind.GVK, o.Fields)
	if err != nil {
		return nil, q, err
	}
	shares := h.shares
	if q.Namespace != "" {
		if shares, err = h.in(q.Namespace); err != nil {
			return nil, q, err
		}
	}
	informers := make([]*informer.Informer, len(shares))
	for i, s := range shares {
		informers[i] = s.Informer()
		if err := informers[i].Fits(proto); err != nil {
			return nil, q, err
		}
		if _, err := informers[i].Snapshot(reading(o.EvenUnavailable)...); err != nil {
			return nil, q, err
		}
	}
	if !some {
		return nil, q, nil
	}
	return informers, q, nil
}

// honors returns an error for options of a list that a cache cannot honor.
func (h *held) honors(proto object.Object, o client.ListOptions) error {
	_, metadata := proto.(*metav1.PartialObjectMetadata)
	switch {
	case o.MetadataOnly && !metadata:
		return &UnsupportedError{Kind: h.kind.GVK, Option: "metadata only", Reason: "it is for objects of type *v1.PartialObjectMetadata"}
	case o.Match == metav1.ResourceVersionMatchExact:
		return h.atVersion("exactly " + o.ResourceVersion)
	}
	return h.atVersion(o.ResourceVersion)
}

// atVersion returns an error for a read at a version. Only "0" allows an answer of any age.
func (h *held) atVersion(version string) error {
	if version == "" || version == "0" {
		return nil
	}
	return &UnsupportedError{Kind: h.kind.GVK, Option: "resourceVersion " + version, Reason: "only the server can be asked for a version", cause: client.ErrNotLive}
}

// selectFields puts the requirements of a field selector into a query. some is false if nothing
// can meet them.
func selectFields(q *informer.Query, gvk schema.GroupVersionKind, sel fields.Selector) (some bool, err error) {
	if sel == nil || sel.Empty() {
		return true, nil
	}
	var conds []store.Cond
	some = len(sel.Requirements()) > 0
	for _, r := range sel.Requirements() {
		if r.Operator != selection.Equals && r.Operator != selection.DoubleEquals {
			return false, &UnsupportedError{
				Kind: gvk, Option: "field selector " + sel.String(), Reason: "only requirements of the form a=b can be met by an index",
			}
		}
		switch r.Field {
		case metav1.ObjectNameField:
			some = some && (q.Name == "" || q.Name == r.Value)
			q.Name = r.Value
		case "metadata.namespace":
			some = some && (q.Namespace == "" || q.Namespace == r.Value)
			q.Namespace = r.Value
		default:
			conds = append(conds, store.Is(r.Field, r.Value))
		}
	}
	if len(conds) > 0 {
		q.Where = store.And(conds...)
	}
	return some, nil
}

// reads returns what reads of an object's kind are answered from.
func (c *Cache) reads(ctx context.Context, o object.Object, gvk schema.GroupVersionKind) (*held, error) {
	if h, ok := c.types.Load(reflect.TypeOf(o)); ok && (gvk.Empty() || gvk == h.(*held).kind.GVK) {
		return h.(*held), nil
	}
	named, err := object.KindOf(c.conn.Scheme, o)
	switch {
	case err == nil && !gvk.Empty() && gvk != named:
		return nil, &object.UnknownKindError{Type: fmt.Sprintf("%T", o), Err: fmt.Errorf("it is %v, %v was asked for", named, gvk)}
	case err == nil:
		gvk = named
	case gvk.Empty() || !object.Untyped(o):
		return nil, err
	}
	_, metadata := o.(*metav1.PartialObjectMetadata)
	h := c.held(gvk, metadata)
	if c.special[gvk].OpenOnRead {
		return c.openForRead(ctx, h, gvk, metadata)
	}
	if h == nil {
		return nil, &UndeclaredError{Kind: gvk, MetadataOnly: !metadata && c.held(gvk, true) != nil}
	}
	c.note(o, gvk, h)
	return h, nil
}

// note notes what reads into a Go type are answered from, if that says which kind is meant.
func (c *Cache) note(o object.Object, gvk schema.GroupVersionKind, h *held) {
	if object.Untyped(o) {
		return
	}
	if kinds, _, err := c.conn.Scheme.ObjectKinds(o); err != nil || len(kinds) > 1 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kinds[gvk] == h {
		c.types.Store(reflect.TypeOf(o), h)
	}
}

func (c *Cache) held(gvk schema.GroupVersionKind, metadata bool) *held {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heldAs(gvk, metadata)[gvk]
}

// openForRead opens a kind that may be opened by a read, and waits until it has synced.
func (c *Cache) openForRead(ctx context.Context, h *held, gvk schema.GroupVersionKind, metadata bool) (*held, error) {
	if h == nil {
		named := &unstructured.Unstructured{}
		named.SetGroupVersionKind(gvk)
		kind, err := c.conn.Resolve(ctx, named)
		if err != nil {
			return nil, err
		}
		if _, err := c.open(kind, metadata); err != nil { // the handle is the cache's, for good
			return nil, err
		}
		h = c.held(gvk, metadata)
	}
	for _, s := range h.shares {
		in := s.Informer()
		select {
		case <-in.Synced():
		case <-ctx.Done():
			_, err := in.Snapshot()
			return nil, errors.Join(context.Cause(ctx), err)
		}
	}
	return h, nil
}

// in returns the informers that hold a namespace.
func (h *held) in(namespace string) ([]*informer.Share, error) {
	if h.namespaces[0] == metav1.NamespaceAll {
		return h.shares, nil
	}
	if i, ok := slices.BinarySearch(h.namespaces, namespace); ok {
		return h.shares[i : i+1], nil
	}
	return nil, &informer.NamespaceError{Kind: h.kind.GVK, Namespace: namespace, Held: h.namespaces}
}

const tokenPrefix = "cache."

// token names the key behind which a page ended.
func token(last object.Key) string {
	return tokenPrefix + base64.RawURLEncoding.EncodeToString([]byte(last.Namespace+"/"+last.Name))
}

// after reads a token; an empty one is the start.
func after(token string) (object.Key, error) {
	if token == "" {
		return object.Key{}, nil
	}
	encoded, ours := strings.CutPrefix(token, tokenPrefix)
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	namespace, name, ok := strings.Cut(string(text), "/")
	if !ours || err != nil || !ok {
		return object.Key{}, &ContinueError{Token: token}
	}
	return object.Key{Namespace: namespace, Name: name}, nil
}
