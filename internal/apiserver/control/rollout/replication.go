package rollout

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/core"
)

var replicationUser = control.ServiceAccount("replication-controller")

var replications = flavor{
	title: "replicationcontroller-controller", apiVersion: "v1", name: "ReplicationController", user: replicationUser, kind: control.ReplicationControllers,
	get: func(s *control.State, key string) *appsv1.ReplicaSet {
		rc := control.Get[corev1.ReplicationController](s, key)
		if rc == nil || rc.Spec.Template == nil {
			return nil
		}
		return asReplicaSet(rc)
	},
	status: func(rs *appsv1.ReplicaSet) core.Request {
		return replicationUser.UpdateStatus(control.ReplicationControllers, asReplication(rs))
	},
}

// ReplicationControllers returns the controller that keeps the number of Pods of each ReplicationController.
func ReplicationControllers(control.Options) control.Controller { return replications.controller() }

func asReplicaSet(rc *corev1.ReplicationController) *appsv1.ReplicaSet {
	none := int32(0) // its status has no count of terminating Pods
	rs := &appsv1.ReplicaSet{
		ObjectMeta: rc.ObjectMeta,
		Spec:       appsv1.ReplicaSetSpec{Replicas: rc.Spec.Replicas, MinReadySeconds: rc.Spec.MinReadySeconds, Selector: &metav1.LabelSelector{MatchLabels: rc.Spec.Selector}, Template: *rc.Spec.Template},
		Status: appsv1.ReplicaSetStatus{Replicas: rc.Status.Replicas, FullyLabeledReplicas: rc.Status.FullyLabeledReplicas, ReadyReplicas: rc.Status.ReadyReplicas,
			AvailableReplicas: rc.Status.AvailableReplicas, ObservedGeneration: rc.Status.ObservedGeneration, TerminatingReplicas: &none},
	}
	for _, c := range rc.Status.Conditions {
		rs.Status.Conditions = append(rs.Status.Conditions, appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetConditionType(c.Type), Status: c.Status, LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message})
	}
	return rs
}

// asReplication returns a ReplicationController with the fields that an update of its status needs.
func asReplication(rs *appsv1.ReplicaSet) *corev1.ReplicationController {
	rc := &corev1.ReplicationController{
		ObjectMeta: rs.ObjectMeta,
		Status: corev1.ReplicationControllerStatus{Replicas: rs.Status.Replicas, FullyLabeledReplicas: rs.Status.FullyLabeledReplicas, ReadyReplicas: rs.Status.ReadyReplicas,
			AvailableReplicas: rs.Status.AvailableReplicas, ObservedGeneration: rs.Status.ObservedGeneration},
	}
	for _, c := range rs.Status.Conditions {
		rc.Status.Conditions = append(rc.Status.Conditions, corev1.ReplicationControllerCondition{
			Type: corev1.ReplicationControllerConditionType(c.Type), Status: c.Status, LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message})
	}
	return rc
}
