package object

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The getters below have the names and results of those of metav1.Object, so that a Header reads as a
// whole object does. A Header is no metav1.Object: it has no setters, and lacks metadata that the
// framework does not need, such as finalizers and creationTimestamp.

// GetNamespace returns the namespace; empty for a cluster-scoped kind.
func (h *Header) GetNamespace() string { return h.Namespace }

// GetName returns the name.
func (h *Header) GetName() string { return h.Name }

// GetUID returns the UID.
func (h *Header) GetUID() types.UID { return h.UID }

// GetResourceVersion returns the resourceVersion.
func (h *Header) GetResourceVersion() string { return h.ResourceVersion }

// GetGeneration returns the generation; zero where the kind has none.
func (h *Header) GetGeneration() int64 { return h.Generation }

// GetDeletionTimestamp returns when the deletion was requested; nil while the object is not being
// deleted.
func (h *Header) GetDeletionTimestamp() *metav1.Time {
	if !h.Deleting() {
		return nil
	}
	t := metav1.NewTime(h.DeletionTimestamp)
	return &t
}

// GetLabels returns the labels: the map of the Header, not a copy.
func (h *Header) GetLabels() map[string]string { return h.Labels }

// GetAnnotations returns the annotations: the map of the Header, not a copy.
func (h *Header) GetAnnotations() map[string]string { return h.Annotations }

// GetOwnerReferences returns the ownerReferences, in the order of the object, in a new slice.
// Controller is set on the controller only. BlockOwnerDeletion is nil: a Header does not have it.
func (h *Header) GetOwnerReferences() []metav1.OwnerReference {
	if len(h.Owners) == 0 {
		return nil
	}
	refs := make([]metav1.OwnerReference, len(h.Owners))
	for i, o := range h.Owners {
		refs[i] = metav1.OwnerReference{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: o.UID}
		if o.Controller {
			refs[i].Controller = new(true)
		}
	}
	return refs
}
