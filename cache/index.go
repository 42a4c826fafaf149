package cache

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

var errUntyped = errors.New("an index by a function needs the Go type of the kind; use IndexPath")

// IndexField declares an index of a kind by a function of its Go type. It may be called before or
// while the cache runs, and before or after the kind is opened. A List uses the index through a
// field selector with its name.
//
//	cache.IndexField(c, "spec.nodeName", func(p *corev1.Pod) []string { return []string{p.Spec.NodeName} })
//
// Errors: *object.UnknownKindError, *store.IndexExistsError, store.ErrBadIndex.
func IndexField[T any, P object.Ptr[T]](c *Cache, name string, f func(P) []string) error {
	proto := P(new(T))
	if object.Untyped(proto) {
		return &object.UnknownKindError{Type: fmt.Sprintf("%T", proto), Err: errUntyped}
	}
	gvk, err := object.KindOf(c.conn.Scheme, proto)
	if err != nil {
		return err
	}
	if f == nil {
		return fmt.Errorf("cache: index %q of %s: %w", name, gvk.Kind, store.ErrBadIndex)
	}
	return c.index(gvk, name, informer.IndexFunc(f))
}

// IndexPath declares an index of a kind by a field path, which is also its name. See
// [informer.Informer.IndexPath].
func (c *Cache) IndexPath(gvk schema.GroupVersionKind, path string) error {
	var t reflect.Type
	if c.conn.Scheme != nil {
		t = c.conn.Scheme.AllKnownTypes()[gvk]
	}
	f, err := informer.IndexPathFunc(t, path)
	if err != nil {
		return err
	}
	return c.index(gvk, path, f)
}

func (c *Cache) index(gvk schema.GroupVersionKind, name string, by store.Indexer) error {
	shares, err := c.declare(gvk, name, by)
	if err != nil {
		return err
	}
	for _, share := range shares {
		if err := share.IndexEntries(name, by); err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.indexes[gvk], name)
			return err
		}
	}
	return nil
}

// declare records an index for informers opened later, and returns those that are open.
func (c *Cache) declare(gvk schema.GroupVersionKind, name string, by store.Indexer) ([]*informer.Share, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case name == "":
		return nil, fmt.Errorf("cache: index of %s: %w", gvk.Kind, store.ErrBadIndex)
	case c.indexes[gvk][name] != nil:
		return nil, &store.IndexExistsError{Resource: schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, Index: name}
	case c.indexes[gvk] == nil:
		c.indexes[gvk] = make(map[string]store.Indexer)
	}
	c.indexes[gvk][name] = by
	if h := c.kinds[gvk]; h != nil {
		return h.shares, nil
	}
	return nil, nil
}
