package control

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// Reference returns a reference to the controller of an object.
func Reference(apiVersion, kind string, owner metav1.Object) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes}
}

// Owner is an object that controls others.
type Owner struct {
	metav1.Object
	Kind     schema.GroupVersionKind
	Selector labels.Selector
	// Finalizers are added to what the owner adopts.
	Finalizers []string
}

// Reference returns a reference to the owner as a controller.
func (o Owner) Reference() metav1.OwnerReference {
	return Reference(o.Kind.GroupVersion().String(), o.Kind.Kind, o.Object)
}

// Children returns the objects of a kind that an owner has, and those of its namespace that have no controller. A
// selector that is not nil chooses among the latter. They are in the order of their keys, those of the owner first.
func Children[T any](s *State, k Kind, o metav1.Object, selector labels.Selector) (out []*T) {
	for _, key := range s.Owned(o.GetUID()) {
		if k.Has(key) && s.Meta(key).Controller() != nil {
			out = append(out, Get[T](s, key))
		}
	}
	for _, key := range s.Orphans(k, o.GetNamespace()) {
		if selector == nil || selector.Matches(labels.Set(s.Meta(key).Labels)) {
			out = append(out, Get[T](s, key))
		}
	}
	return out
}

// Claim returns those of some objects that an owner controls. It adopts those without a controller that its selector
// matches, and releases those that the selector no longer matches. The requests do that, whatever the version of an
// object is by then.
func Claim[T metav1.Object](u User, k Kind, o Owner, objects []T) (have []T, requests []core.Request) {
	patch := func(x T, meta map[string]any) {
		meta["uid"] = x.GetUID()
		requests = append(requests, u.Do("PATCH", k.Path(x.GetNamespace(), x.GetName(), ""), "application/strategic-merge-patch+json", map[string]any{"metadata": meta}))
	}
	for _, x := range objects {
		ref := metav1.GetControllerOfNoCopy(x)
		matches := o.Selector.Matches(labels.Set(x.GetLabels()))
		switch {
		case ref != nil && ref.UID != o.GetUID():
		case ref != nil && matches:
			have = append(have, x)
		case ref != nil && o.GetDeletionTimestamp() == nil:
			patch(x, map[string]any{"ownerReferences": []any{map[string]any{"$patch": "delete", "uid": o.GetUID()}}})
		case ref == nil && matches && o.GetDeletionTimestamp() == nil && x.GetDeletionTimestamp() == nil:
			meta := map[string]any{"ownerReferences": []any{o.Reference()}}
			if len(o.Finalizers) > 0 {
				meta["finalizers"] = o.Finalizers
			}
			patch(x, meta)
			have = append(have, x)
		}
	}
	return have, requests
}

// Owners adds the keys of the owners to reconcile after a change of an owned object. These are its controllers before
// and after the change. If it has none, they are the owners whose selector matches it. kind is the kind of the owners
// in references.
func Owners(s *State, c Change, owners Kind, kind string, selects func(s *State, key string) labels.Selector, add func(string)) {
	for m := range c.Metas() {
		if ref := m.Controller(); ref != nil {
			if ref.Kind == kind {
				add(owners.Key(m.Namespace, ref.Name))
			}
			continue
		}
		if len(m.Labels) == 0 || m == c.Was && c.Is == nil {
			continue
		}
		for o := range s.All(owners.Prefix(m.Namespace)) {
			if selector := selects(s, o.Key); selector != nil && selector.Matches(labels.Set(m.Labels)) {
				add(o.Key)
			}
		}
	}
}

// Selector returns a label selector. It is nil if l is not valid or selects everything: the server refuses both.
func Selector(l *metav1.LabelSelector) labels.Selector {
	s, err := metav1.LabelSelectorAsSelector(l)
	if err != nil || s.Empty() {
		return nil
	}
	return s
}

// ErrSelector is the error for an owner that would create Pods without end. No server stores it.
var ErrSelector = errors.New("its selector is missing, is empty, or does not match the labels of its template")

// Selecting returns the selector of an owner whose template has these labels.
func Selecting(l *metav1.LabelSelector, template map[string]string) (labels.Selector, error) {
	s := Selector(l)
	if s == nil || !s.Matches(labels.Set(template)) {
		return nil, ErrSelector
	}
	return s, nil
}
