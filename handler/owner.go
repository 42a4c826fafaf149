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

// Owners selects owner references.
type Owners bool

const (
	// Controlling is the one owner reference with controller: true.
	Controlling Owners = true
	// Any is every owner reference, as with MatchEveryOwner of controller-runtime.
	Any Owners = false
)

// Owner requests the owners of type T of the changed object, of its old and its new state. A
// reference matches by group and kind; its version may be another one.
func Owner[T any, P object.Ptr[T]](which Owners) Handler[reconcile.Request] {
	return OwnerKind[T, P](schema.GroupVersionKind{}, which)
}

// OwnerKind is [Owner] for a kind that is known at run time: T is unstructured.Unstructured or
// metav1.PartialObjectMetadata. A kind that does not agree with another T is an error of Check.
func OwnerKind[T any, P object.Ptr[T]](kind schema.GroupVersionKind, which Owners) Handler[reconcile.Request] {
	proto := P(new(T))
	if !kind.Empty() {
		proto.GetObjectKind().SetGroupVersionKind(kind)
	}
	return unbound{proto, kind, bool(which)}
}

// unbound is an owner handler before Bind: whether the owner has a namespace is not known yet.
type unbound struct {
	proto      object.Object
	asked      schema.GroupVersionKind // the kind as the caller named it; empty: by the Go type
	controller bool
}

func (u unbound) kind(s *runtime.Scheme) (schema.GroupVersionKind, error) {
	gvk, err := object.KindOf(s, u.proto)
	if err == nil && !u.asked.Empty() && gvk != u.asked {
		err = &object.UnknownKindError{Type: fmt.Sprintf("%T", u.proto), Err: fmt.Errorf("it is %s, not %s", gvk, u.asked)}
	}
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
	o := owner{kind: gvk.GroupKind(), controller: u.controller}
	o.namespaced = func() bool { return mapping.Scope.Name() == meta.RESTScopeNameNamespace }
	if m, ok := m.(knower); ok {
		o.namespaced = func() bool {
			now := m.Known(gvk)
			if now == nil {
				now = mapping
			}
			return now.Scope.Name() == meta.RESTScopeNameNamespace
		}
	}
	return o, nil
}

// knower is a mapper that follows the server, as that of package client does. Known sends nothing. A kind
// whose definition is made anew may have another scope.
type knower interface {
	Known(gvk schema.GroupVersionKind) *meta.RESTMapping
}

// mappingOf asks the mapper, under ctx if the mapper takes one, as that of package client does.
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
	namespaced func() bool // the scope of the owners now
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
		key := object.Key{Name: ref.Name}
		if o.namespaced() {
			if namespace == "" {
				continue // a cluster-scoped object cannot have a namespaced owner
			}
			key.Namespace = namespace
		}
		add(key)
	}
}
