package cache

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
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

// find yields the entries that a list reads, by a query. Each is lent until the next one.
func (c *Cache) find(ctx context.Context, proto object.Object, o client.ListOptions) (q informer.Query, all iter.Seq[informer.Found], err error) {
	h, err := c.resolve(ctx, proto, o.Kind)
	if err != nil {
		return q, nil, err
	}
	if err := h.honors(proto, o); err != nil {
		return q, nil, err
	}
	q = informer.Query{Namespace: o.Namespace, Labels: o.Labels, EvenUnavailable: o.EvenUnavailable, Lent: true}
	if h.clusterScoped() {
		q.Namespace = ""
	}
	if q.After, err = after(o.Continue); err != nil {
		return q, nil, err
	}
	possible, err := selectFields(&q, h.kind.GVK, o.Fields)
	if err != nil {
		return q, nil, err
	}
	shares := h.shares
	if q.Namespace != "" {
		if shares, err = h.in(q.Namespace); err != nil {
			return q, nil, err
		}
	}
	informers := make([]*informer.Informer, len(shares))
	for i, s := range shares {
		informers[i] = s.informer()
		if err := informers[i].Fits(proto); err != nil {
			return q, nil, err
		}
	}
	all, err = informer.Find(informers, q)
	if err == nil && !possible {
		all = func(func(informer.Found) bool) {}
	}
	return q, all, err
}

// honors returns an error for options of a list that a cache cannot honor.
func (h *openKind) honors(proto object.Object, o client.ListOptions) error {
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
func (h *openKind) atVersion(version string) error {
	if version == "" || version == "0" {
		return nil
	}
	return &UnsupportedError{Kind: h.kind.GVK, Option: "resourceVersion " + version, Reason: "only the server can be asked for a version", cause: client.ErrNotLive}
}

// selectFields adds the requirements of a field selector to a query. possible is false if no object
// can meet them.
func selectFields(q *informer.Query, gvk schema.GroupVersionKind, sel fields.Selector) (possible bool, err error) {
	if sel == nil || sel.Empty() {
		return true, nil
	}
	var conds []store.Cond
	possible = len(sel.Requirements()) > 0
	for _, r := range sel.Requirements() {
		if r.Operator != selection.Equals && r.Operator != selection.DoubleEquals {
			return false, &UnsupportedError{
				Kind: gvk, Option: "field selector " + sel.String(), Reason: "only requirements of the form a=b can be met by an index",
			}
		}
		switch r.Field {
		case metav1.ObjectNameField:
			possible = possible && (q.Name == "" || q.Name == r.Value)
			q.Name = r.Value
		case "metadata.namespace":
			possible = possible && (q.Namespace == "" || q.Namespace == r.Value)
			q.Namespace = r.Value
		default:
			conds = append(conds, store.Is(r.Field, r.Value))
		}
	}
	if len(conds) > 0 {
		q.Where = store.And(conds...)
	}
	return possible, nil
}

// resolve returns the open kind that answers reads of o.
func (c *Cache) resolve(ctx context.Context, o object.Object, gvk schema.GroupVersionKind) (*openKind, error) {
	if h, ok := c.types.Load(reflect.TypeOf(o)); ok && (gvk.Empty() || gvk == h.(*openKind).kind.GVK) {
		return h.(*openKind), nil
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
	h := c.lookUp(gvk, metadata)
	if slices.ContainsFunc(c.overrides[gvk], func(k KindOptions) bool { return k.OpenOnRead }) {
		return c.openForRead(ctx, h, gvk, metadata)
	}
	if h == nil {
		return nil, &UndeclaredError{Kind: gvk, MetadataOnly: !metadata && c.lookUp(gvk, true) != nil}
	}
	c.rememberType(o, gvk, h)
	return h, nil
}

// rememberType records the kind that answers reads into the Go type of o, if that type has one kind
// only.
func (c *Cache) rememberType(o object.Object, gvk schema.GroupVersionKind, h *openKind) {
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

func (c *Cache) lookUp(gvk schema.GroupVersionKind, metadata bool) *openKind {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mapOf(gvk, metadata)[gvk]
}

// openForRead opens a kind with OpenOnRead, and waits until it has synced.
func (c *Cache) openForRead(ctx context.Context, h *openKind, gvk schema.GroupVersionKind, metadata bool) (*openKind, error) {
	if h == nil {
		named := &unstructured.Unstructured{}
		named.SetGroupVersionKind(gvk)
		kind, err := c.conn.resolve(ctx, named)
		if err != nil {
			return nil, err
		}
		if _, err := c.open(kind, client.Selection{MetadataOnly: metadata}, false); err != nil { // the cache keeps the handle open
			return nil, err
		}
		h = c.lookUp(gvk, metadata)
	}
	for _, s := range h.shares {
		in := s.informer()
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
func (h *openKind) in(namespace string) ([]*shared, error) {
	if h.namespaces[0] == metav1.NamespaceAll {
		return h.shares, nil
	}
	if i, ok := slices.BinarySearch(h.namespaces, namespace); ok {
		return h.shares[i : i+1], nil
	}
	return nil, &informer.NamespaceError{Kind: h.kind.GVK, Namespace: namespace, Held: h.namespaces}
}

const tokenPrefix = "cache."

// token returns the continue token of a page that ends with the key last.
func token(last object.Key) string {
	return tokenPrefix + base64.RawURLEncoding.EncodeToString([]byte(last.Namespace+"/"+last.Name))
}

// after parses a token. An empty one is the start.
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
