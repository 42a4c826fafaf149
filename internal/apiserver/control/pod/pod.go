// Package pod has functions for controllers of Pods: to make Pods from templates, to judge their state, and to choose
// those to delete.
package pod

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// FromTemplate returns a new Pod from a template, controlled by an owner. The server generates its name.
func FromTemplate(template *corev1.PodTemplateSpec, owner metav1.OwnerReference, ownerMeta metav1.Object) *corev1.Pod {
	t := template.DeepCopy()
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ownerMeta.GetNamespace(), GenerateName: Prefix(ownerMeta.GetName()),
			Labels: t.Labels, Annotations: t.Annotations, Finalizers: t.Finalizers, OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: t.Spec,
	}
}

// Prefix returns the prefix of generated names of an owner's Pods.
func Prefix(owner string) string {
	if len(validation.IsDNS1123Subdomain(owner+"-a")) > 0 {
		return owner // with a dash it would be too long
	}
	return owner + "-"
}

// Active reports whether a Pod has not ended and is not being deleted.
func Active(p *corev1.Pod) bool { return !Ended(p) && p.DeletionTimestamp == nil }

// Ended reports whether a Pod has succeeded or failed.
func Ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// Terminating reports whether a Pod is being deleted and has not ended.
func Terminating(p *corev1.Pod) bool { return !Ended(p) && p.DeletionTimestamp != nil }

// Condition returns a condition; nil if the Pod does not have it.
func Condition(p *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	i := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &p.Status.Conditions[i]
}

// Ready reports whether a Pod is ready.
func Ready(p *corev1.Pod) bool {
	c := Condition(p, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// Available reports whether a Pod has been ready for a number of seconds. If it is ready and has not been for so long,
// then is when it will have been; otherwise then is zero.
func Available(p *corev1.Pod, seconds int32, now time.Time) (ok bool, then time.Time) {
	if !Ready(p) {
		return false, time.Time{}
	}
	since := Condition(p, corev1.PodReady).LastTransitionTime
	then = since.Add(time.Duration(seconds) * time.Second)
	if seconds == 0 || !since.IsZero() && !then.After(now) {
		return true, time.Time{}
	}
	return false, then
}

// restarts returns the highest restart count of the containers of a Pod.
func restarts(p *corev1.Pod) (most int32) {
	for _, c := range p.Status.ContainerStatuses {
		most = max(most, c.RestartCount)
	}
	return most
}

// phases gives the order in which Pods are deleted by their phase.
var phases = map[corev1.PodPhase]int{corev1.PodPending: 0, corev1.PodUnknown: 1, corev1.PodRunning: 2}

// SortForDeletion sorts Pods by the order in which a controller with too many deletes them. Pods without a node, not
// running, or not ready come first. Then count a lower deletion cost, more Pods of the same owner on the node, a
// shorter time of being ready, more restarts, and a lower age. beside has the number of Pods of the owner for each
// node.
func SortForDeletion(pods []*corev1.Pod, beside map[string]int, now time.Time) {
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
		for _, n := range []int{
			first(a.Spec.NodeName == "", b.Spec.NodeName == ""),
			phases[a.Status.Phase] - phases[b.Status.Phase],
			first(!Ready(a), !Ready(b)),
			int(max(-1, min(1, cost(a)-cost(b)))),
			beside[b.Spec.NodeName] - beside[a.Spec.NodeName],
			later(readySince(a), readySince(b), now),
			int(restarts(b) - restarts(a)),
			later(a.CreationTimestamp, b.CreationTimestamp, now),
			strings.Compare(string(a.UID), string(b.UID)),
		} {
			if n != 0 {
				return n
			}
		}
		return 0
	})
}

func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// later compares times by the logarithm of their age, as the real controllers do: similar ages are equal.
func later(a, b metav1.Time, now time.Time) int { return age(a, now) - age(b, now) }

// age returns the logarithm of the age in nanoseconds of a time. The zero time has the lowest age.
func age(t metav1.Time, now time.Time) (n int) {
	if t.IsZero() {
		return -1
	}
	for d := max(0, now.Sub(t.Time)); d > 0; d >>= 1 {
		n++
	}
	return n
}

func readySince(p *corev1.Pod) metav1.Time {
	if !Ready(p) {
		return metav1.Time{}
	}
	return Condition(p, corev1.PodReady).LastTransitionTime
}

// cost returns the deletion cost in the annotation of a Pod; zero without it.
func cost(p *corev1.Pod) (n int64) {
	text := p.Annotations[corev1.PodDeletionCost]
	negative := strings.HasPrefix(text, "-")
	for _, c := range strings.TrimPrefix(text, "-") {
		if c < '0' || c > '9' || n > 1<<31 {
			return 0 // admission refuses it
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		return -n
	}
	return n
}
