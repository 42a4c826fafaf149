// Package rollout has the controllers of Deployments, ReplicaSets and ReplicationControllers.
//
//	Deployment ──▶ one ReplicaSet for each template: scaled up and down ──▶ Pods
package rollout

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/pod"
	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// flavor is a kind whose objects keep a number of Pods: ReplicaSets, or ReplicationControllers, which are converted.
type flavor struct {
	title, apiVersion, name string
	user                    control.User
	kind                    control.Kind
	get                     func(s *control.State, key string) *appsv1.ReplicaSet // nil if there is none
	status                  func(*appsv1.ReplicaSet) core.Request
}

var replicaSets = flavor{
	title: "replicaset-controller", apiVersion: "apps/v1", name: "ReplicaSet", user: replicaSetUser, kind: control.ReplicaSets,
	get:    control.Get[appsv1.ReplicaSet],
	status: func(rs *appsv1.ReplicaSet) core.Request { return replicaSetUser.UpdateStatus(control.ReplicaSets, rs) },
}

var replicaSetUser = control.ServiceAccount("replicaset-controller")

// burst bounds the Pods that one reconcile creates or deletes.
const burst = 500

// ReplicaSets returns the controller that keeps the number of Pods of each ReplicaSet.
func ReplicaSets(control.Options) control.Controller { return replicaSets.controller() }

func (f flavor) controller() control.Controller {
	return &control.Keyed{
		Title: f.title,
		Map: func(s *control.State, c control.Change, add func(string)) {
			switch {
			case c.In(f.kind):
				add(c.Key)
			case c.In(control.Pods):
				control.Owners(s, c, f.kind, f.name, f.selector, add)
			}
		},
		Reconcile: f.reconcile,
		Failed:    f.failure,
	}
}

func (f flavor) selector(s *control.State, key string) labels.Selector {
	return control.Selector(f.get(s, key).Spec.Selector)
}

func (f flavor) reconcile(now time.Time, s *control.State, key string) (r control.Result) {
	rs := f.get(s, key)
	if rs == nil {
		return r
	}
	selector, err := control.Selecting(rs.Spec.Selector, rs.Spec.Template.Labels)
	if err != nil {
		return control.Result{Err: err}
	}
	owner := control.Owner{Object: rs, Kind: schema.FromAPIVersionAndKind(f.apiVersion, f.name), Selector: selector}
	all, requests := control.Claim(f.user, control.Pods, owner, control.Children[corev1.Pod](s, control.Pods, rs, selector))
	var active []*corev1.Pod
	terminating := int32(0)
	for _, p := range all {
		switch {
		case pod.Active(p):
			active = append(active, p)
		case pod.Terminating(p):
			terminating++
		}
	}
	// The status counts the Pods before this reconcile, as that of the real controller does.
	status, again := replicaSetStatus(now, rs, active, terminating)
	if rs.DeletionTimestamp == nil {
		requests = append(requests, f.scale(now, s, rs, owner.Reference(), active)...)
	}
	if !equality.Semantic.DeepEqual(rs.Status, status) {
		changed := rs.DeepCopy()
		changed.Status = status
		requests = append(requests, f.status(changed))
	}
	return control.Result{Requests: requests, At: again}
}

// scale creates the Pods that are missing, or deletes those that are too many.
func (f flavor) scale(now time.Time, s *control.State, rs *appsv1.ReplicaSet, ref metav1.OwnerReference, active []*corev1.Pod) (out []core.Request) {
	diff := len(active) - int(*rs.Spec.Replicas)
	if diff < 0 {
		one := f.user.Create(control.Pods, pod.FromTemplate(&rs.Spec.Template, ref, rs))
		for range min(-diff, burst) {
			out = append(out, one)
		}
		return out
	}
	if diff == 0 {
		return nil
	}
	pod.SortForDeletion(active, beside(s, rs, active), now)
	for _, p := range active[:min(diff, burst)] {
		out = append(out, f.user.Delete(control.Pods.Path(p.Namespace, p.Name, ""), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(p.UID))}))
	}
	return out
}

// beside counts the Pods of the ReplicaSets of the same Deployment, for each node.
func beside(s *control.State, rs *appsv1.ReplicaSet, active []*corev1.Pod) map[string]int {
	count := map[string]int{}
	for _, p := range active {
		count[p.Spec.NodeName]++
	}
	owner := metav1.GetControllerOf(rs)
	if owner == nil {
		return count
	}
	for _, sibling := range s.Owned(owner.UID) {
		m := s.Meta(sibling)
		if !control.ReplicaSets.Has(sibling) || m.UID == rs.UID {
			continue
		}
		for _, key := range s.Owned(m.UID) {
			if p := control.Get[corev1.Pod](s, key); control.Pods.Has(key) && pod.Active(p) {
				count[p.Spec.NodeName]++
			}
		}
	}
	return count
}

// replicaSetStatus returns the status of a ReplicaSet, and when it will change without a change of a Pod.
func replicaSetStatus(now time.Time, rs *appsv1.ReplicaSet, active []*corev1.Pod, terminating int32) (status appsv1.ReplicaSetStatus, again time.Time) {
	status = *rs.Status.DeepCopy()
	status.ObservedGeneration, status.TerminatingReplicas = rs.Generation, &terminating
	status.Replicas, status.FullyLabeledReplicas, status.ReadyReplicas, status.AvailableReplicas = int32(len(active)), 0, 0, 0
	template := labels.SelectorFromSet(rs.Spec.Template.Labels)
	for _, p := range active {
		if template.Matches(labels.Set(p.Labels)) {
			status.FullyLabeledReplicas++
		}
		if !pod.Ready(p) {
			continue
		}
		status.ReadyReplicas++
		if ok, then := pod.Available(p, rs.Spec.MinReadySeconds, now); ok {
			status.AvailableReplicas++
		} else if again.IsZero() || then.Before(again) {
			again = then
		}
	}
	if len(active) == int(*rs.Spec.Replicas) { // nothing has failed
		status.Conditions = dropCondition(status.Conditions, appsv1.ReplicaSetReplicaFailure)
	}
	return status, again
}

func dropCondition(all []appsv1.ReplicaSetCondition, kind appsv1.ReplicaSetConditionType) (out []appsv1.ReplicaSetCondition) {
	for _, c := range all {
		if c.Type != kind {
			out = append(out, c)
		}
	}
	return out
}

// failure returns the request that notes in the status that a Pod could not be created or deleted.
func (f flavor) failure(now time.Time, s *control.State, key string, r core.Request, why *metav1.Status) []core.Request {
	rs := f.get(s, key)
	reason := map[string]string{"POST": "FailedCreate", "DELETE": "FailedDelete"}[r.Method]
	if rs == nil || reason == "" {
		return nil
	}
	for _, c := range rs.Status.Conditions {
		if c.Type == appsv1.ReplicaSetReplicaFailure {
			return nil
		}
	}
	rs = rs.DeepCopy()
	rs.Status.Conditions = append(rs.Status.Conditions, appsv1.ReplicaSetCondition{
		Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now), Reason: reason, Message: why.Message})
	return []core.Request{f.status(rs)}
}
