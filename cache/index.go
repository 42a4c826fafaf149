package cache

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

var errUntyped = errors.New("an index by a function needs the Go type of the kind; use informer.IndexPath")

// IndexField declares an index of a kind by a function of its Go type; see [Cache.AddIndex] and
// [informer.IndexFunc].
//
//	cache.IndexField(c, "spec.nodeName", func(p *corev1.Pod) []string { return []string{p.Spec.NodeName} })
//
// Errors: *object.UnknownKindError, and those of AddIndex.
func IndexField[T any, P object.Ptr[T]](c *Cache, name string, f func(P) []string) error {
	proto := P(new(T))
	if object.Untyped(proto) {
		return &object.UnknownKindError{Type: fmt.Sprintf("%T", proto), Err: errUntyped}
	}
	gvk, err := object.KindOf(c.conn.Scheme, proto)
	if err != nil {
		return err
	}
	return c.AddIndex(gvk, name, informer.IndexFunc(f))
}

// AddIndex declares an index of a kind, in all of its watches of whole objects. It may be called
// before or while the cache runs, and before or after the kind is opened. A List uses the index
// through a field selector with its name.
//
//	c.AddIndex(podKind, "spec.nodeName", informer.IndexPath("spec.nodeName"))
//	c.AddIndex(podKind, "image", informer.IndexView(func(p *podImages) []string { … }))
//
// Errors: those of [informer.Informer.AddIndex].
func (c *Cache) AddIndex(gvk schema.GroupVersionKind, name string, by store.Indexer) error {
	by, err := informer.CheckIndex(c.conn.Scheme, gvk, name, by)
	if err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	open, err := c.declare(gvk, name, by)
	if err != nil {
		return err
	}
	for _, in := range open {
		if err := in.AddIndex(name, by); err != nil && !errors.Is(err, informer.ErrStopped) {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.indexes[gvk], name)
			return err
		}
	}
	return nil
}

// declare records an index for informers opened later, and returns those that are open.
func (c *Cache) declare(gvk schema.GroupVersionKind, name string, by store.Indexer) (open []*informer.Informer, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.indexes[gvk][name] != nil:
		return nil, &store.IndexExistsError{Resource: schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, Index: name}
	case c.indexes[gvk] == nil:
		c.indexes[gvk] = make(map[string]store.Indexer)
	}
	c.indexes[gvk][name] = by
	for key, s := range c.shared {
		if key.gvk == gvk && !key.metadataOnly {
			open = append(open, s.informer())
		}
	}
	return open, nil
}
