package client

import (
	"context"
	"iter"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// PartialReader is a [Reader] that also answers in parts: with one page of a list, and with a few fields of
// objects without building the objects. Programs call [ListPage], [Project] and [ProjectList], which take
// any other Reader, too.
type PartialReader interface {
	Reader
	// Page reads one page of at most o.Limit objects of proto's type.
	Page(ctx context.Context, proto object.Object, o ListOptions) (Page[object.Object], error)
	// Project reads a view of the object of the key into the struct that view points to. It
	// replaces all of the struct, which the caller owns. proto names the kind, as into does for
	// Get; it does not change.
	Project(ctx context.Context, key object.Key, proto object.Object, view any, o GetOptions) error
	// ProjectList reads a view of each object that List yields with these options into the one
	// struct that view points to, and yields nil. For an object that has no such view it yields an
	// error that names the object, and the sequence continues. Any other error ends the sequence.
	ProjectList(ctx context.Context, proto object.Object, view any, o ListOptions) iter.Seq[error]
}

// Project reads a few fields of the object of the key. The struct V, called a view, has those fields:
//
//	type podView struct {
//		Spec   struct{ NodeName string }
//		Status struct{ Phase corev1.PodPhase }
//	}
//	pod, err := client.Project[corev1.Pod, podView](ctx, c, key)
//
// [wire.Projection] says what a view may have. A view that does not fit the kind is a
// *[wire.ProjectionError] that names the field. T is the Go type of the kind. A kind without a Go type
// takes unstructured.Unstructured with [OfKind]. The caller owns the view.
//
// A cache reads a view from its bytes, many times faster than Get. A read from the server transfers the
// whole object, but does not build it. Errors are those of [Get].
func Project[T, V any, P object.Ptr[T]](ctx context.Context, r Reader, key object.Key, opts ...GetOption) (V, error) {
	var view, none V
	var o GetOptions
	o.Apply(opts...)
	var err error
	if p, ok := r.(PartialReader); ok {
		err = p.Project(ctx, key, wire.Prototype[T, P](o.Kind), &view, o)
	} else {
		obj := P(new(T))
		setKind(obj, o.Kind)
		if err = r.Get(ctx, key, obj, o); err == nil {
			err = projectObject(obj, &view)
		}
	}
	if err != nil {
		return none, err
	}
	return view, nil
}

// ProjectList yields a view of each matching object; see [Project]:
//
//	for pod, err := range client.ProjectList[corev1.Pod, podView](ctx, c, client.InNamespace("web")) { … }
//
// Order and errors are those of [List].
func ProjectList[T, V any, P object.Ptr[T]](ctx context.Context, r Reader, opts ...ListOption) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		var view, none V
		var o ListOptions
		if err := o.Apply(opts...); err != nil {
			yield(none, err)
			return
		}
		for err := range projectAll(ctx, r, wire.Prototype[T, P](o.Kind), &view, o) {
			one := view
			if err != nil {
				one = none
			}
			if !yield(one, err) {
				return
			}
		}
	}
}

func projectAll(ctx context.Context, r Reader, proto object.Object, view any, o ListOptions) iter.Seq[error] {
	if p, ok := r.(PartialReader); ok {
		return p.ProjectList(ctx, proto, view, o)
	}
	return func(yield func(error) bool) {
		for obj, err := range r.List(ctx, proto, o) {
			if err == nil {
				err = projectObject(obj, view)
			}
			if !yield(err) {
				return
			}
		}
	}
}

// projectObject reads a view of a decoded object.
func projectObject(obj object.Object, view any) error {
	var kind reflect.Type
	if _, ok := obj.(*unstructured.Unstructured); !ok {
		kind = reflect.TypeOf(obj)
	}
	p, err := wire.CompileProjection(kind, reflect.TypeOf(view))
	if err != nil {
		return err
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	b, _, err := wire.Encode(obj, gvk, wire.JSON)
	if err != nil {
		return err
	}
	return p.Read(wire.Raw{Kind: &wire.Kind{GVK: gvk}, Encoding: wire.JSON, Bytes: b}, view)
}

// Project implements [PartialReader].
func (c *Live) Project(ctx context.Context, key object.Key, proto object.Object, view any, o GetOptions) error {
	p, err := c.projection(verbGet, proto, view, o.Kind)
	if err != nil {
		return err
	}
	raw, err := c.fetch(ctx, key, proto, o)
	if err != nil {
		return err
	}
	return p.Read(raw, view)
}

// ProjectList implements [PartialReader]. Like List it keeps one page as bytes.
func (c *Live) ProjectList(ctx context.Context, proto object.Object, view any, o ListOptions) iter.Seq[error] {
	return func(yield func(error) bool) {
		p, err := c.projection(verbList, proto, view, o.Kind)
		if err != nil {
			yield(err)
			return
		}
		for page, err := range c.pages(ctx, proto, o) {
			if err != nil {
				yield(err)
				return
			}
			for _, item := range page.items {
				err := item.err
				if err == nil {
					err = p.Read(item.raw, view)
				}
				if !yield(err) {
					return
				}
			}
		}
	}
}

// projection compiles a view. It sends nothing.
func (c *Live) projection(verb string, proto object.Object, view any, asked schema.GroupVersionKind) (*wire.Projection, error) {
	gvk, err := kindOf(verb, c.scheme, proto, asked)
	if err != nil {
		return nil, err
	}
	return c.wireKind(gvk, proto).Projection(view)
}
