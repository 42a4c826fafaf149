package ctrl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball/adapter/internal/objects"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/sparse"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// ForHelpers makes a client of controller-runtime one of Flyball, for the packages child, condition and
// finalizer in an operator that stays with controller-runtime:
//
//	c := ctrl.ForHelpers(mgr.GetClient(), mgr.GetAPIReader())
//	deployment, did, err := child.Ensure(ctx, c, website, deploymentOf(website))
//
// c answers reads, and live those that must ask the server: child makes sure that an object which a cache does
// not hold does not exist. Without a live reader such a read is a client.ErrNotLive, and child then creates or
// fails. Errors are those of package client, with the Status of the server.
//
// Updates are those of c: fields that a Go type does not have are lost. The helpers send patches and applies.
func ForHelpers(c crclient.Client, live crclient.Reader) client.Client {
	return &helperClient{c, live}
}

// helperClient implements client.Client.
type helperClient struct {
	c    crclient.Client
	live crclient.Reader // may be nil
}

// Scheme implements client.Client.
func (h *helperClient) Scheme() *runtime.Scheme { return h.c.Scheme() }

// Mapper implements client.Client.
func (h *helperClient) Mapper() meta.RESTMapper { return h.c.RESTMapper() }

// Get implements client.Reader.
func (h *helperClient) Get(ctx context.Context, key object.Key, into object.Object, o client.GetOptions) error {
	call := client.Call{Verb: "get", Key: key, Subresource: o.Subresource}
	if err := setKind(into, o.Kind); err != nil {
		return err
	}
	if o.Subresource != "" {
		parent := into
		if !o.Parent.Empty() {
			named := &metav1.PartialObjectMetadata{}
			named.SetGroupVersionKind(o.Parent)
			if parent = named; h.Scheme().Recognizes(o.Parent) {
				var err error
				if parent, err = newLike(nil, o.Parent, h.Scheme()); err != nil {
					return err
				}
			}
		}
		parent.SetNamespace(key.Namespace)
		parent.SetName(key.Name)
		return h.typed(call, into, h.c.SubResource(o.Subresource).Get(ctx, parent, into))
	}
	var from crclient.Reader = h.c
	var opts []crclient.GetOption
	if o.Live || o.ResourceVersion != "" && o.ResourceVersion != "0" {
		if from = h.live; from == nil {
			return client.ErrNotLive
		}
		opts = append(opts, &crclient.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: o.ResourceVersion}})
	}
	return h.typed(call, into, from.Get(ctx, crclient.ObjectKey(key), into, opts...))
}

// setKind names the kind of an object that does not name its own.
func setKind(o object.Object, kind schema.GroupVersionKind) error {
	switch is := o.GetObjectKind().GroupVersionKind(); {
	case kind.Empty() || is == kind:
	case is.Empty():
		o.GetObjectKind().SetGroupVersionKind(kind)
	default:
		return &object.UnknownKindError{Type: fmt.Sprintf("%T", o), Err: fmt.Errorf("it says it is %v, %v was asked for", is, kind)}
	}
	return nil
}

// List implements client.Reader. It reads one list of the client, with all objects. [client.OwnedBy] is an error: neither
// the server nor a cache of controller-runtime has an index of owners by itself.
func (h *helperClient) List(ctx context.Context, proto object.Object, o client.ListOptions) iter.Seq2[object.Object, error] {
	return func(yield func(object.Object, error) bool) {
		items, err := h.list(ctx, proto, o)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

func (h *helperClient) list(ctx context.Context, proto object.Object, o client.ListOptions) ([]object.Object, error) {
	if err := setKind(proto, o.Kind); err != nil {
		return nil, err
	}
	kind, err := object.KindOf(h.Scheme(), proto)
	if err != nil {
		return nil, err
	}
	if o.Fields != nil {
		if _, owned := o.Fields.RequiresExactMatch(wire.OwnerUIDs); owned {
			return nil, fmt.Errorf("list of %s: %w", kind.Kind, wire.ErrNoOwners)
		}
	}
	list, err := h.newList(proto, kind)
	if err != nil {
		return nil, err
	}
	lo := &crclient.ListOptions{Namespace: o.Namespace, LabelSelector: o.Labels, FieldSelector: o.Fields, Continue: o.Continue}
	if o.ResourceVersion != "" || o.Match != "" {
		lo.Raw = &metav1.ListOptions{ResourceVersion: o.ResourceVersion, ResourceVersionMatch: o.Match}
	}
	if err := h.c.List(ctx, list, lo); err != nil {
		return nil, h.typed(client.Call{Verb: "list", Kind: kind.Kind, Key: object.Key{Namespace: o.Namespace}}, proto, err)
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	all := make([]object.Object, 0, len(items))
	for _, item := range items {
		obj, ok := item.(object.Object)
		if !ok {
			return nil, fmt.Errorf("list of %s: an item is a %T", kind.Kind, item)
		}
		obj.GetObjectKind().SetGroupVersionKind(kind)
		all = append(all, obj)
	}
	slices.SortFunc(all, func(a, b object.Object) int { return object.KeyOf(a).Compare(object.KeyOf(b)) })
	return all, nil
}

// newList returns an empty list for objects like proto.
func (h *helperClient) newList(proto object.Object, kind schema.GroupVersionKind) (crclient.ObjectList, error) {
	kind.Kind += "List"
	switch proto.(type) {
	case *unstructured.Unstructured:
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		return list, nil
	case *metav1.PartialObjectMetadata:
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		return list, nil
	}
	list, err := h.Scheme().New(kind)
	if err != nil {
		return nil, err
	}
	typed, ok := list.(crclient.ObjectList)
	if !ok {
		return nil, fmt.Errorf("%s: a %T is no list", kind, list)
	}
	return typed, nil
}

// Write implements client.Writer.
func (h *helperClient) Write(ctx context.Context, op client.Op) (object.Object, error) {
	if op.Object == nil {
		return nil, &client.ArgumentError{Call: client.Call{Verb: op.Verb}, Argument: "Object", Problem: "is nil"}
	}
	call := client.Call{Verb: op.Verb, Key: object.KeyOf(op.Object), Subresource: op.Subresource}
	got, err := h.write(ctx, &op)
	if err != nil {
		return nil, h.typed(call, op.Object, err)
	}
	if got != nil && got.GetObjectKind().GroupVersionKind().Empty() {
		if kind, err := object.KindOf(h.Scheme(), got); err == nil {
			got.GetObjectKind().SetGroupVersionKind(kind)
		}
	}
	return got, nil
}

func (h *helperClient) write(ctx context.Context, op *client.Op) (object.Object, error) {
	// Create and Update fill what they are given: the caller's objects stay as they are.
	obj := op.Object.DeepCopyObject().(object.Object)
	body := obj
	if op.Body != nil {
		body = op.Body.DeepCopyObject().(object.Object)
	}
	o := writeOptions{op}
	switch op.Verb {
	case "create":
		if op.Subresource != "" {
			return body, h.c.SubResource(op.Subresource).Create(ctx, obj, body, o)
		}
		return obj, h.c.Create(ctx, obj, o)
	case "update":
		if op.Subresource != "" {
			return body, h.c.SubResource(op.Subresource).Update(ctx, obj, o, crclient.WithSubResourceBody(body))
		}
		return obj, h.c.Update(ctx, obj, o)
	case "patch":
		if err := op.Patch.Err(); err != nil {
			return nil, err
		}
		return h.patch(ctx, op, crclient.RawPatch(op.Patch.Type(), op.Patch.Bytes()))
	case "apply":
		data, err := applyData(op, h.Scheme())
		if err != nil {
			return nil, err
		}
		got, err := h.patch(ctx, op, crclient.RawPatch(types.ApplyPatchType, data))
		return got, existed(op, err)
	case "delete":
		return nil, h.c.Delete(ctx, obj, o)
	case "deletecollection":
		return nil, h.c.DeleteAllOf(ctx, obj, o)
	}
	return nil, &client.ArgumentError{Call: client.Call{Verb: op.Verb}, Argument: "Verb", Problem: "unknown"}
}

// patch sends a patch. The answer is a new object: decoding into one that has fields would mix the two.
func (h *helperClient) patch(ctx context.Context, op *client.Op, patch crclient.Patch) (object.Object, error) {
	bare := named(op.Object)
	o := writeOptions{op}
	switch {
	case op.Subresource == "":
		return bare, h.c.Patch(ctx, bare, patch, o)
	case op.Body == nil:
		return bare, h.c.SubResource(op.Subresource).Patch(ctx, bare, patch, o)
	}
	body := fresh(op.Body)
	return body, h.c.SubResource(op.Subresource).Patch(ctx, bare, patch, o, crclient.WithSubResourceBody(body))
}

// named returns an empty object of the type, kind and key of o.
func named(o object.Object) object.Object {
	bare := fresh(o)
	bare.SetNamespace(o.GetNamespace())
	bare.SetName(o.GetName())
	return bare
}

// absentVersion is a resourceVersion that no object has: an apply with it creates an object or fails. See
// docs/adr/0014-create-or-fail.md.
const absentVersion = "9223372036854775807"

// applyData is the object of an apply as JSON, without what only its Go type sets.
func applyData(op *client.Op, scheme *runtime.Scheme) ([]byte, error) {
	of := op.Object
	if op.Body != nil {
		of = op.Body
	}
	kind, err := object.KindOf(scheme, of)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	if err := recode(of, &u.Object); err != nil {
		return nil, err
	}
	if _, asGiven := of.(*unstructured.Unstructured); !asGiven {
		if s := reflect.ValueOf(of).Elem().FieldByName("Status"); s.IsValid() && s.IsZero() {
			unstructured.RemoveNestedField(u.Object, "status")
		}
		sparse.Nulls(of, u.Object)
	}
	u.SetGroupVersionKind(kind)
	unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
	if op.IfAbsent {
		u.SetResourceVersion(absentVersion)
	}
	return json.Marshal(u.Object)
}

// existed turns the conflict of an apply with IfAbsent into the error of an object that exists. A conflict about
// another object, such as a quota, stays.
func existed(op *client.Op, err error) error {
	status, ok := errors.AsType[objects.WithStatus](err)
	if !op.IfAbsent || !ok || !apierrors.IsConflict(err) {
		return err
	}
	s := status.Status()
	if s.Details == nil || s.Details.Name != op.Object.GetName() {
		return err
	}
	s.Reason, s.Message = metav1.StatusReasonAlreadyExists, "there is one already"
	return &apierrors.StatusError{ErrStatus: s}
}

// typed gives an error of controller-runtime its type in package client. of is the object of the call.
func (h *helperClient) typed(call client.Call, of object.Object, err error) error {
	if err == nil {
		return nil
	}
	status, ok := errors.AsType[objects.WithStatus](err)
	if !ok {
		return err
	}
	if kind, unknown := object.KindOf(h.Scheme(), of); unknown == nil {
		call.Kind = kind.Kind
		if m, err := h.Mapper().RESTMapping(kind.GroupKind(), kind.Version); err == nil {
			call.Resource = m.Resource
		}
	}
	s := status.Status()
	if s.Code == 0 { // of a cache, or of a fake
		s.Code = int32(codes[s.Reason])
	}
	return call.Failure(s)
}
