package control

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// Claimed is a pointer to an object that controllers can own.
type Claimed[T any] interface {
	*T
	metav1.Object
	DeepCopy() *T
}

// Reference returns a reference to the controller of an object.
func Reference(apiVersion, kind string, owner metav1.Object) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes}
}

// Claim returns the objects of a kind that an owner controls, sorted by key, and requests. The requests adopt objects
// without a controller that the selector matches, and release objects that it no longer matches.
func Claim[T any, P Claimed[T]](s *State, u User, k Kind, owner metav1.Object, ref metav1.OwnerReference, selector labels.Selector) (have []P, requests []core.Request) {
	for _, key := range s.Owned(owner.GetUID()) {
		m := s.Meta(key)
		if c := m.Controller(); !k.Has(key) || c == nil || c.UID != owner.GetUID() {
			continue
		}
		o := P(Get[T](s, key))
		if selector.Matches(labels.Set(m.Labels)) {
			have = append(have, o)
			continue
		}
		if owner.GetDeletionTimestamp() == nil && m.DeletionTimestamp == nil {
			released := P(o.DeepCopy())
			released.SetOwnerReferences(slices.DeleteFunc(released.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() }))
			requests = append(requests, u.Update(k, released))
		}
	}
	if owner.GetDeletionTimestamp() != nil {
		return have, requests
	}
	for _, key := range s.Orphans(k, owner.GetNamespace()) {
		m := s.Meta(key)
		if m.DeletionTimestamp != nil || !selector.Matches(labels.Set(m.Labels)) {
			continue
		}
		adopted := P(P(Get[T](s, key)).DeepCopy())
		adopted.SetOwnerReferences(append(adopted.GetOwnerReferences(), ref))
		have = append(have, adopted)
		requests = append(requests, u.Update(k, adopted))
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
