package child

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// Prune deletes the children of one kind for which keep returns false, and returns their keys. It looks
// in the namespace of the owner, or in all namespaces if the owner has none.
//
//	child.Prune(ctx, c, g, func(s *corev1.Service) bool { return s.Name == wanted })
//
// Prune deletes only objects whose controller reference has the uid of owner. It skips objects that are
// being deleted. It deletes an object only in the version that it read. If the object has changed since,
// Prune reads it from the server and asks keep again. It never deletes a later object of the same name.
// The garbage collector deletes the dependents in the background.
//
// From a cache it reads the objects of the owner only; see [client.OwnedBy]. Where that fails it lists the namespace, and
// may ask keep again. opts restrict the list. If a deletion fails, Prune continues with the others and joins the errors.
func Prune[T any, P object.Ptr[T]](ctx context.Context, c client.Client, owner object.Object, keep func(P) bool, opts ...client.ListOption) ([]object.Key, error) {
	if err := checkOwner(owner); err != nil {
		return nil, err
	}
	if keep == nil {
		return nil, invalid("keep", "is nil")
	}
	gvk, err := object.KindOf(c.Scheme(), owner)
	if err != nil {
		return nil, fmt.Errorf("owner: %w", err)
	}
	if ns := owner.GetNamespace(); ns != "" {
		opts = append(slices.Clip(opts), client.InNamespace(ns))
	}
	unwanted, err := unwantedOf(ctx, c, owner, gvk, keep, append(slices.Clip(opts), client.OwnedBy(owner.GetUID())))
	if err != nil { // no cache has the kind, or the client is one that cannot answer it: what else is wrong shows again
		unwanted, err = unwantedOf(ctx, c, owner, gvk, keep, opts)
	}
	if err != nil {
		return nil, fmt.Errorf("children of %s: %w", describe(c.Scheme(), owner), err)
	}
	var deleted []object.Key
	var errs []error
	for _, p := range unwanted {
		ok, err := prune(ctx, c, owner, gvk, keep, p)
		if err != nil {
			errs = append(errs, fmt.Errorf("child %s of %s: %w", describe(c.Scheme(), p), describe(c.Scheme(), owner), err))
		}
		if ok {
			deleted = append(deleted, object.KeyOf(p))
		}
	}
	return deleted, errors.Join(errs...)
}

// unwantedOf lists the children that are not kept.
func unwantedOf[T any, P object.Ptr[T]](ctx context.Context, c client.Client, owner object.Object, gvk schema.GroupVersionKind, keep func(P) bool, opts []client.ListOption) (unwanted []P, err error) {
	for p, err := range client.List[T, P](ctx, c, opts...) {
		if err != nil {
			return nil, err
		}
		if taken(owner, gvk, p, "") == nil && p.GetDeletionTimestamp() == nil && !keep(p) {
			unwanted = append(unwanted, p)
		}
	}
	return unwanted, nil
}

// prune deletes a child in the version that was read. If the child has another version by now, prune
// reads it from the server and decides again.
func prune[T any, P object.Ptr[T]](ctx context.Context, c client.Client, owner object.Object, gvk schema.GroupVersionKind, keep func(P) bool, seen P) (bool, error) {
	var changed error
	for range maxReads {
		err := client.Delete(ctx, c, seen, client.DeleteOptions{
			Preconditions:     &metav1.Preconditions{UID: new(seen.GetUID()), ResourceVersion: new(seen.GetResourceVersion())},
			PropagationPolicy: new(metav1.DeletePropagationBackground),
		})
		if client.IgnoreNotFound(err) == nil {
			return err == nil, nil
		}
		if _, conflict := errors.AsType[*client.ConflictError](err); !conflict {
			return false, err
		}
		changed = err
		now := P(new(T))
		if object.Untyped(now) {
			now.GetObjectKind().SetGroupVersionKind(seen.GetObjectKind().GroupVersionKind())
		}
		err = c.Get(ctx, object.KeyOf(seen), now, client.GetOptions{Live: true})
		switch {
		case err != nil && client.IgnoreNotFound(err) == nil:
			return false, nil
		case err != nil:
			return false, errors.Join(changed, err)
		case now.GetUID() != seen.GetUID(), taken(owner, gvk, now, "") != nil, now.GetDeletionTimestamp() != nil, keep(now):
			return false, nil
		}
		seen = now
	}
	return false, changed
}
