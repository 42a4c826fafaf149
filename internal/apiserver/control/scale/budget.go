package scale

import (
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
	"github.com/flyball-io/flyball/internal/apiserver/control/pod"
)

// deletionTimeout is how long an evicted Pod counts as gone before it is deleted.
const deletionTimeout = 2 * time.Minute

// Budgets returns the controller of pod disruption budgets. The status that it writes allows evictions.
func Budgets(control.Options) control.Controller {
	user := control.ServiceAccount("disruption-controller")
	return &control.Keyed{Title: "disruption-controller", Map: func(s *control.State, c control.Change, add func(string)) {
		switch {
		case c.In(calls.Budgets):
			add(c.Key)
		case c.In(control.Pods):
			ns, _ := control.Pods.Names(c.Key)
			for key, b := range control.List[policyv1.PodDisruptionBudget](s, calls.Budgets, ns) {
				for m := range c.Metas() {
					if selects(b, m.Labels) {
						add(key)
					}
				}
			}
		default:
			for _, k := range []control.Kind{control.Deployments, control.ReplicaSets, calls.StatefulSets, control.ReplicationControllers} {
				if c.In(k) {
					ns, _ := k.Names(c.Key)
					for o := range s.All(calls.Budgets.Prefix(ns)) {
						add(o.Key)
					}
				}
			}
		}
	}, Reconcile: func(now time.Time, s *control.State, key string) (r control.Result) {
		b := control.Get[policyv1.PodDisruptionBudget](s, key)
		if b == nil {
			return r
		}
		var pods []*corev1.Pod
		for o := range s.All(control.Pods.Prefix(b.Namespace)) {
			if selects(b, o.Labels()) {
				pods = append(pods, control.Get[corev1.Pod](s, o.Key))
			}
		}
		next, due := judge(now, b, pods, func(p *corev1.Pod) (types.UID, int32, error) { return scaleOfController(now, s, user, p) })
		c := &calls.Calls{User: user}
		if len(pods) == 0 {
			c.Tell(b, "NoPods", "No matching pods found")
		}
		if next != nil {
			c.UpdateStatus(next)
		}
		r.Requests, r.Events, r.At = c.List, c.Events, due
		return r
	}}
}

func selects(b *policyv1.PodDisruptionBudget, l map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	return err == nil && selector.Matches(labels.Set(l))
}

// judge returns a copy of the budget with a new status, nil if the status does not change, and when to judge again.
func judge(now time.Time, b *policyv1.PodDisruptionBudget, pods []*corev1.Pod, scale func(*corev1.Pod) (types.UID, int32, error)) (*policyv1.PodDisruptionBudget, time.Time) {
	next := b.DeepCopy()
	expected, desired, err := expectation(b, pods, scale)
	if err != nil {
		next.Status.DisruptionsAllowed = 0
		meta.SetStatusCondition(&next.Status.Conditions, metav1.Condition{
			Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason, Message: err.Error(),
			ObservedGeneration: next.Status.ObservedGeneration, LastTransitionTime: metav1.NewTime(now),
		})
		return changed(b, next), time.Time{}
	}
	disrupted := map[string]metav1.Time{}
	var due time.Time
	healthy := int32(0)
	for _, p := range pods {
		if p.DeletionTimestamp != nil {
			continue
		}
		if at, ok := b.Status.DisruptedPods[p.Name]; ok && !at.Add(deletionTimeout).Before(now) {
			disrupted[p.Name] = at
			if end := at.Add(deletionTimeout); due.IsZero() || end.Before(due) {
				due = end
			}
			if at.Add(deletionTimeout).After(now) {
				continue
			}
		}
		if pod.Ready(p) {
			healthy++
		}
	}
	if !due.IsZero() {
		due = due.Add(time.Nanosecond) // the timeout is over after it
	}
	allowed := max(0, healthy-desired)
	status, reason := metav1.ConditionFalse, policyv1.InsufficientPodsReason
	if expected <= 0 {
		allowed = 0
	}
	if allowed > 0 {
		status, reason = metav1.ConditionTrue, policyv1.SufficientPodsReason
	}
	next.Status = policyv1.PodDisruptionBudgetStatus{
		CurrentHealthy: healthy, DesiredHealthy: desired, ExpectedPods: expected, DisruptionsAllowed: allowed, DisruptedPods: disrupted,
		ObservedGeneration: b.Generation, Conditions: next.Status.Conditions,
	}
	meta.SetStatusCondition(&next.Status.Conditions, metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: status, Reason: reason, ObservedGeneration: b.Generation, LastTransitionTime: metav1.NewTime(now),
	})
	return changed(b, next), due
}

// changed returns next; nil if it has the status of b.
func changed(b, next *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
	if equality.Semantic.DeepEqual(b.Status, next.Status) {
		return nil
	}
	return next
}

// expectation returns how many Pods the workload is to have, and how many of them must be healthy.
func expectation(b *policyv1.PodDisruptionBudget, pods []*corev1.Pod, scale func(*corev1.Pod) (types.UID, int32, error)) (expected, desired int32, err error) {
	least, most := b.Spec.MinAvailable, b.Spec.MaxUnavailable
	if most == nil && least == nil {
		return 0, 0, nil
	}
	if most == nil && least.Type == intstr.Int {
		return int32(len(pods)), least.IntVal, nil
	}
	scales := map[types.UID]int32{}
	for _, p := range pods {
		if metav1.GetControllerOfNoCopy(p) == nil {
			continue // the size of the workload is not known
		}
		uid, n, err := scale(p)
		if err != nil {
			return 0, 0, err
		}
		scales[uid] = n
	}
	for _, n := range scales {
		expected += n
	}
	if most != nil {
		n, err := intstr.GetScaledValueFromIntOrPercent(most, int(expected), true)
		return expected, max(0, expected-int32(n)), err
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(least, int(expected), true)
	return expected, int32(n), err
}

// scaleOfController returns the uid of the controller of a Pod, and how many Pods it wants. For a ReplicaSet of a
// Deployment it is the Deployment.
func scaleOfController(now time.Time, s *control.State, u control.User, p *corev1.Pod) (types.UID, int32, error) {
	ref := metav1.GetControllerOfNoCopy(p)
	none := fmt.Errorf("found no controllers for pod %q", p.Name)
	if ref.Kind == "ReplicaSet" && ref.APIVersion == appsv1.SchemeGroupVersion.String() {
		rs := control.Get[appsv1.ReplicaSet](s, control.ReplicaSets.Key(p.Namespace, ref.Name))
		if rs == nil || rs.UID != ref.UID {
			return "", 0, none
		}
		if up := metav1.GetControllerOfNoCopy(rs); up != nil && up.Kind == "Deployment" {
			ref = up
		}
	}
	scale, _, err := scaleOf(now, s, u, ref.APIVersion, ref.Kind, p.Namespace, ref.Name)
	var status statusError
	switch {
	case errors.As(err, &status) && status.Reason == metav1.StatusReasonNotFound:
		k, _ := resource(s, ref.APIVersion, ref.Kind) // it is known: the server has answered
		if s.Meta(k.Key(p.Namespace, ref.Name)) == nil {
			return "", 0, none
		}
		return "", 0, fmt.Errorf("%s does not implement the scale subresource", groupResource(ref.APIVersion, k))
	case err != nil:
		return "", 0, err
	case scale.UID != ref.UID:
		return "", 0, none
	}
	return scale.UID, scale.Spec.Replicas, nil
}
