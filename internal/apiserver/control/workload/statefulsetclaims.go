package workload

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func (s *statefulSet) claimName(template *corev1.PersistentVolumeClaim, p *corev1.Pod) string {
	return fmt.Sprintf("%s-%s-%d", template.Name, s.Set.Name, ordinal(p))
}

// volumes returns the volumes of a Pod, with those for the claims of the set.
func (s *statefulSet) volumes(p *corev1.Pod) []corev1.Volume {
	var out []corev1.Volume
	names := map[string]bool{}
	for i := range s.Set.Spec.VolumeClaimTemplates {
		t := &s.Set.Spec.VolumeClaimTemplates[i]
		names[t.Name] = true
		v := corev1.Volume{Name: t.Name}
		v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: s.claimName(t, p)}
		out = append(out, v)
	}
	for _, v := range p.Spec.Volumes {
		if !names[v.Name] {
			out = append(out, v)
		}
	}
	return out
}

// createClaims creates the claims that a Pod lacks. It reports false if a claim of the Pod is being deleted.
func (s *statefulSet) createClaims(p *corev1.Pod) bool {
	ok := true
	for i := range s.Set.Spec.VolumeClaimTemplates {
		t := s.Set.Spec.VolumeClaimTemplates[i].DeepCopy()
		t.Name, t.Namespace = s.claimName(t, p), s.Set.Namespace
		if present := s.Claim(t.Name); present != nil {
			ok = ok && present.DeletionTimestamp == nil
			continue
		}
		for k, v := range s.Set.Spec.Selector.MatchLabels {
			setLabel(t, k, v)
		}
		s.c.Create(t)
	}
	return ok
}

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// retention returns whether claims are deleted with Pods that are scaled away, and with the set.
func (s *statefulSet) retention() (scaled, deleted bool) {
	r := s.Set.Spec.PersistentVolumeClaimRetentionPolicy
	if r == nil {
		return false, false
	}
	const del = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	return r.WhenScaled == del, r.WhenDeleted == del
}

// hasStaleClaim reports whether a claim of a Pod belongs to a former Pod of its name, and so will be deleted.
func (s *statefulSet) hasStaleClaim(p *corev1.Pod) bool {
	if scaled, _ := s.retention(); !scaled {
		return false
	}
	for i := range s.Set.Spec.VolumeClaimTemplates {
		c := s.Claim(s.claimName(&s.Set.Spec.VolumeClaimTemplates[i], p))
		if c != nil && isStale(c, p, podKind) {
			return true
		}
	}
	return false
}

// matchClaims sets the owners of the claims of a Pod by the retention policy: the set, if claims are deleted with it;
// the Pod, if claims are deleted with Pods that are scaled away and the Pod is condemned.
func (s *statefulSet) matchClaims(p *corev1.Pod) {
	for i := range s.Set.Spec.VolumeClaimTemplates {
		c := s.Claim(s.claimName(&s.Set.Spec.VolumeClaimTemplates[i], p))
		if c == nil || isStale(c, s.Set, statefulSetKind) || isStale(c, p, podKind) {
			continue
		}
		scaled, deleted := s.retention()
		other := (scaled || deleted) && slices.ContainsFunc(c.OwnerReferences, func(r metav1.OwnerReference) bool {
			return r.Controller != nil && *r.Controller && r.UID != s.Set.UID && r.UID != p.UID
		})
		want := slices.DeleteFunc(slices.Clone(c.OwnerReferences), func(r metav1.OwnerReference) bool {
			return refers(r, s.Set, statefulSetKind) || refers(r, p, podKind)
		})
		n := ordinal(p)
		goes := n < s.start() || n >= s.start()+len(s.replicas)
		switch {
		case other:
		case scaled && goes:
			want = append(want, *metav1.NewControllerRef(p, podKind))
		case deleted:
			want = append(want, s.owner.Reference())
		}
		if !sameOwners(c.OwnerReferences, want) {
			s.c.UpdateAt(c, map[string]any{"ownerReferences": want}, nil)
		}
	}
}

// refers reports whether a reference names an object, whatever its uid.
func refers(r metav1.OwnerReference, o metav1.Object, kind schema.GroupVersionKind) bool {
	return r.APIVersion == kind.GroupVersion().String() && r.Kind == kind.Kind && r.Name == o.GetName()
}

// isStale reports whether a claim belongs to another object with the same name.
func isStale(c *corev1.PersistentVolumeClaim, o metav1.Object, kind schema.GroupVersionKind) bool {
	return slices.ContainsFunc(c.OwnerReferences, func(r metav1.OwnerReference) bool { return refers(r, o, kind) && r.UID != o.GetUID() })
}

func sameOwners(a, b []metav1.OwnerReference) bool {
	return slices.EqualFunc(a, b, func(x, y metav1.OwnerReference) bool {
		return x.UID == y.UID && (x.Controller != nil && *x.Controller) == (y.Controller != nil && *y.Controller)
	})
}
