package handler

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/store"
)

// Owners says which of the owners of an object count.
type Owners bool

const (
	// Controlling is the one owner that has controller: true.
	Controlling Owners = true
	// Any is every owner.
	Any Owners = false
)

// Owner requests the owners of an object that are of type T, those it had before the change and
// those it has after. Group and kind of the reference must be those of T; its version need not be.
func Owner[T any, P object.Ptr[T]](which Owners) Handler[reconcile.Request] {
	return OwnerOf(P(new(T)), which)
}

// OwnerOf is [Owner] for a kind that is named by a value: an unstructured or metadata-only
// object names it by its apiVersion and kind, any other by its Go type.
func OwnerOf(proto object.Object, which Owners) Handler[reconcile.Request] {
	return unbound{proto, bool(which)}
}

// unbound is an owner handler that does not know yet whether the owner has a namespace.
type unbound struct {
	proto      object.Object
	controller bool
}

func (u unbound) kind(s *runtime.Scheme) (schema.GroupVersionKind, error) {
	gvk, err := object.KindOf(s, u.proto)
	if err != nil {
		return gvk, fmt.Errorf("owner: %w", err)
	}
	return gvk, nil
}

// Check implements Binder.
func (u unbound) Check(s *runtime.Scheme) error {
	_, err := u.kind(s)
	return err
}

// Bind implements Binder.
func (u unbound) Bind(ctx context.Context, s *runtime.Scheme, m meta.RESTMapper) (Handler[reconcile.Request], error) {
	gvk, err := u.kind(s)
	if err != nil {
		return nil, err
	}
	mapping, err := mappingOf(ctx, m, gvk)
	if err != nil {
		return nil, fmt.Errorf("owner %s: %w", gvk.Kind, err)
	}
	return owner{
		kind:       gvk.GroupKind(),
		namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace,
		controller: u.controller,
	}, nil
}

// mappingOf asks within ctx where the mapper can be asked so, as that of package client can.
func mappingOf(ctx context.Context, m meta.RESTMapper, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	if m, ok := m.(interface {
		Mapping(context.Context, schema.GroupVersionKind) (*meta.RESTMapping, error)
	}); ok {
		return m.Mapping(ctx, gvk)
	}
	return m.RESTMapping(gvk.GroupKind(), gvk.Version)
}

// Handle is never reached: controllers bind first.
func (u unbound) Handle(context.Context, store.Change, func(reconcile.Request)) error {
	return fmt.Errorf("owner handler for %T was not bound", u.proto)
}

// HandleGeneric is never reached: controllers bind first.
func (u unbound) HandleGeneric(context.Context, object.Object, func(reconcile.Request)) error {
	return fmt.Errorf("owner handler for %T was not bound", u.proto)
}

type owner struct {
	kind       schema.GroupKind
	namespaced bool
	controller bool
}

func (o owner) Handle(_ context.Context, c store.Change, add func(reconcile.Request)) error {
	for _, e := range states(c) {
		if e != nil {
			o.request(e.Key().Namespace, e.Owners(), add)
		}
	}
	return nil
}

func (o owner) HandleGeneric(_ context.Context, obj object.Object, add func(reconcile.Request)) error {
	h := headerOf(obj)
	o.request(h.Namespace, slices.Values(h.Owners), add)
	return nil
}

func (o owner) request(namespace string, owners iter.Seq[object.Owner], add func(reconcile.Request)) {
	for ref := range owners {
		if o.controller && !ref.Controller || ref.Kind != o.kind.Kind {
			continue
		}
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		if err != nil || gv.Group != o.kind.Group {
			continue
		}
		if o.namespaced && namespace == "" {
			continue // what has no namespace cannot be owned by what has one
		}
		key := object.Key{Name: ref.Name}
		if o.namespaced {
			key.Namespace = namespace
		}
		add(key)
	}
}
