package corpus

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// hash returns the pod-template-hash of a revision.
func (c *Cluster) hash(a app, revision int32) string {
	return word(c.rand("hash", uint64(a.number)<<20|uint64(revision)), 10)
}

func (g *member) replicaSet() Object {
	a := g.ownerOf()
	hash := g.hash(a, g.revision)
	s := &appsv1.ReplicaSet{ObjectMeta: g.meta(a, a.name()+"-"+hash)}
	s.Labels["pod-template-hash"] = hash
	s.Annotations = g.release(a)
	maps.Copy(s.Annotations, map[string]string{
		"deployment.kubernetes.io/desired-replicas": fmt.Sprint(a.size), "deployment.kubernetes.io/max-replicas": fmt.Sprint(a.size + (a.size+3)/4), "deployment.kubernetes.io/revision": fmt.Sprint(g.revision),
	})
	s.OwnerReferences = controlledBy("apps/v1", "Deployment", a.name(), g.uid(ref{kind: deploymentKind, owner: g.owner}))
	s.Generation = 1 + int64(min(g.replicas, 3))
	selected := map[string]string{"app.kubernetes.io/name": a.name(), "pod-template-hash": hash}
	s.Spec = appsv1.ReplicaSetSpec{Replicas: ptr(g.replicas), Selector: &metav1.LabelSelector{MatchLabels: selected}, Template: g.template(a, g.revision)}
	s.Spec.Template.Labels["pod-template-hash"] = hash
	s.Status = appsv1.ReplicaSetStatus{Replicas: g.replicas, FullyLabeledReplicas: g.replicas, ReadyReplicas: g.ready, AvailableReplicas: g.ready, ObservedGeneration: s.Generation}
	return s
}

func (g *member) deployment() Object {
	a := g.ownerOf()
	d := &appsv1.Deployment{ObjectMeta: g.meta(a, a.name())}
	d.Annotations = g.release(a)
	d.Annotations["deployment.kubernetes.io/revision"] = fmt.Sprint(g.revision)
	d.Generation = int64(g.revision)
	quarter := intstr.FromString("25%")
	d.Spec = appsv1.DeploymentSpec{
		Replicas: ptr(int32(a.size)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": a.name()}}, Template: g.template(a, g.revision),
		Strategy:             appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &quarter, MaxSurge: &quarter}},
		RevisionHistoryLimit: ptr(int32(oldSets)), ProgressDeadlineSeconds: ptr(int32(600)),
	}
	updated, reason, message := int32(a.size), "NewReplicaSetAvailable", "has successfully progressed."
	if g.at > 0 && g.step < updated {
		updated, reason, message = g.step, "ReplicaSetUpdated", "is progressing."
	}
	made, set := g.created(), a.name()+"-"+g.hash(a, g.revision)
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: g.replicas, UpdatedReplicas: updated, ReadyReplicas: g.ready, AvailableReplicas: g.ready,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable", Message: "Deployment has minimum availability.", LastUpdateTime: made, LastTransitionTime: made},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: reason, Message: fmt.Sprintf("ReplicaSet %q %s", set, message), LastUpdateTime: g.time(0), LastTransitionTime: made},
		},
	}
	return d
}

func (g *member) job() Object {
	a := g.ownerOf()
	j := &batchv1.Job{ObjectMeta: g.meta(a, a.name())}
	j.Generation = 1
	j.Labels["batch.kubernetes.io/job-name"], j.Labels["batch.kubernetes.io/controller-uid"] = a.name(), string(j.UID)
	j.Annotations = map[string]string{"batch.kubernetes.io/cronjob-scheduled-timestamp": j.CreationTimestamp.UTC().Format("2006-01-02T15:04:05Z")}
	parallel := int32(a.size)
	j.Spec = batchv1.JobSpec{
		Parallelism: &parallel, Completions: &parallel, BackoffLimit: ptr(int32(6)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"batch.kubernetes.io/controller-uid": string(j.UID)}}, Template: g.template(a, 0),
		CompletionMode: ptr(batchv1.NonIndexedCompletion), Suspend: ptr(false), PodReplacementPolicy: ptr(batchv1.TerminatingOrFailed),
	}
	j.Status = batchv1.JobStatus{StartTime: ptr(j.CreationTimestamp), Active: g.replicas, Ready: ptr(int32(0)), UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{}}
	if g.step == jobDone {
		ended := metav1.NewTime(j.CreationTimestamp.Add(22e9))
		j.Status.Active, j.Status.Succeeded, j.Status.CompletionTime = 0, g.replicas, &ended
		for _, t := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
			j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: t, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonCompletionsReached, Message: "Reached expected number of succeeded pods", LastProbeTime: ended, LastTransitionTime: ended})
		}
	}
	return j
}
