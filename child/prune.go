package child

import (
	"context"
	"errors"
	"fmt"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// Prune deletes the children of one kind that keep does not want, in the namespace of the owner, or
// in all if it has none, and returns which. Only what this owner controls, by uid, is touched, and
// each is deleted only while it is the object that was seen: one of its name that was made since
// stays. Those that are being deleted already are left alone, and their dependents go in the
// background.
//
//	child.Prune(ctx, c, g, func(s *corev1.Service) bool { return s.Name == wanted })
//
// opts narrow down what is looked at. Errors of single deletions are joined, and the others go on.
func Prune[T any, P object.Ptr[T]](ctx context.Context, c client.Client, owner object.Object, keep func(P) bool, opts ...client.ListOption) ([]object.Key, error) {
	if err := checkOwner(owner); err != nil {
		return nil, err
	}
	if keep == nil {
		return nil, &InvalidError{Field: "keep", Problem: "is nil"}
	}
	gvk, err := object.KindOf(c.Scheme(), owner)
	if err != nil {
		return nil, fmt.Errorf("owner: %w", err)
	}
	if ns := owner.GetNamespace(); ns != "" {
		opts = append(append([]client.ListOption{}, opts...), client.InNamespace(ns))
	}
	var unwanted []P
	for p, err := range client.List[T, P](ctx, c, opts...) {
		if err != nil {
			return nil, fmt.Errorf("children of %s: %w", describe(c.Scheme(), owner), err)
		}
		if controls(owner, gvk, p, "") == nil && p.GetDeletionTimestamp() == nil && !keep(p) {
			unwanted = append(unwanted, p)
		}
	}
	var gone []object.Key
	var errs []error
	for _, p := range unwanted {
		err := client.Delete(ctx, c, p, client.IfUID(p.GetUID()), client.Background)
		_, another := errors.AsType[*client.Conflict](err)
		switch {
		case err == nil:
			gone = append(gone, object.KeyOf(p))
		case another, client.IgnoreNotFound(err) == nil:
		default:
			errs = append(errs, fmt.Errorf("child %s of %s: %w", describe(c.Scheme(), p), describe(c.Scheme(), owner), err))
		}
	}
	return gone, errors.Join(errs...)
}
