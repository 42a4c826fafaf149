package ctrlcache

import (
	"context"
	"iter"

	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// Header returns the metadata of an object. obj only names the kind. It decodes nothing, and costs a fraction
// of Get. The caller owns the header. Errors are those of Get.
func (c *Cache) Header(ctx context.Context, key crclient.ObjectKey, obj crclient.Object) (h *object.Header, err error) {
	err = c.look(ctx, key, obj, func(_ *watch, e *store.Entry) error {
		h = e.Header()
		return nil
	})
	return h, err
}

// Headers yields the metadata of the objects that List would return. It decodes nothing. The caller owns the
// headers. An object that cannot be used is a *store.RejectedError where it is not known whether it is selected, and
// the sequence goes on. Any other error ends it.
func (c *Cache) Headers(ctx context.Context, list crclient.ObjectList, opts ...crclient.ListOption) iter.Seq2[*object.Header, error] {
	return func(yield func(*object.Header, error) bool) {
		o := crclient.ListOptions{}
		o.ApplyOptions(opts)
		found, err := c.find(ctx, list, &o)
		if err != nil {
			yield(nil, err)
			return
		}
		n := int64(0)
		for i := range found.all() {
			if n++; o.Limit > 0 && n > o.Limit || !yield(found.q.Header(i.w.in, i.e)) {
				return
			}
		}
	}
}

// Project reads a few fields of an object into view, a pointer to a struct whose JSON tags name them. It builds
// no object. Errors are those of Get, and a *wire.ProjectionError for a struct that does not fit the kind.
//
//	var v struct{ Spec struct{ NodeName string `json:"nodeName"` } `json:"spec"` }
//	err := c.Project(ctx, key, &corev1.Pod{}, &v)
func (c *Cache) Project(ctx context.Context, key crclient.ObjectKey, obj crclient.Object, view any) error {
	return c.look(ctx, key, obj, func(w *watch, e *store.Entry) error { return w.in.Project(e, view) })
}

// ProjectList reads a few fields of each object that List would return into view, as Project does, and yields
// after each. The next one overwrites view. An object that cannot be read yields its error, and the sequence
// goes on.
func (c *Cache) ProjectList(ctx context.Context, list crclient.ObjectList, view any, opts ...crclient.ListOption) iter.Seq[error] {
	return func(yield func(error) bool) {
		o := crclient.ListOptions{}
		o.ApplyOptions(opts)
		found, err := c.find(ctx, list, &o)
		if err != nil {
			yield(err)
			return
		}
		n := int64(0)
		for i := range found.all() {
			if err := i.w.in.CheckView(view); err != nil {
				yield(err)
				return
			}
			if n++; o.Limit > 0 && n > o.Limit || !yield(i.w.in.Project(i.e, view)) {
				return
			}
		}
	}
}

// Informers returns the informers of Flyball for the kind of an object, one for each namespace in the options;
// none if nobody has opened the kind. They end with the cache, or with RemoveInformer.
func (c *Cache) Informers(obj crclient.Object) ([]*informer.Informer, error) {
	key, err := keyOf(c.opts.Scheme, obj)
	if err != nil {
		return nil, err
	}
	var all []*informer.Informer
	for _, w := range c.present() {
		if w.key.kindKey == key {
			all = append(all, w.in)
		}
	}
	return all, nil
}
