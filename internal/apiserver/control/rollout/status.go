package rollout

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons of the condition Progressing.
const (
	reasonAvailable = "NewReplicaSetAvailable"
	reasonTimedOut  = "ProgressDeadlineExceeded"
	reasonPaused    = "DeploymentPaused"
)

// retry is the delay after which a reconcile is repeated that the rules program has not answered.
const retry = time.Second

// hasDeadline reports whether a Deployment has a deadline for progress.
func hasDeadline(d *appsv1.Deployment) bool {
	return d.Spec.ProgressDeadlineSeconds != nil && *d.Spec.ProgressDeadlineSeconds != 1<<31-1
}

func (w *rollout) condition(kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	all := w.d.Status.Conditions
	i := slices.IndexFunc(all, func(c appsv1.DeploymentCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	c := all[i]
	return &c
}

func (w *rollout) dropCondition(kind appsv1.DeploymentConditionType) {
	w.d.Status.Conditions = slices.DeleteFunc(w.d.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == kind })
}

// setCondition sets a condition, unless it has the same status and reason already.
func (w *rollout) setCondition(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string) {
	now := metav1.NewTime(w.now.UTC().Truncate(time.Second))
	c := appsv1.DeploymentCondition{Type: kind, Status: status, Reason: reason, Message: message, LastUpdateTime: now, LastTransitionTime: now}
	if have := w.condition(kind); have != nil {
		if have.Status == status && have.Reason == reason {
			return
		}
		if have.Status == status {
			c.LastTransitionTime = have.LastTransitionTime
		}
	}
	w.dropCondition(kind)
	w.d.Status.Conditions = append(w.d.Status.Conditions, c)
}

// pause notes in a condition that a rollout was paused or resumed. While it is paused no deadline counts.
func (w *rollout) pause() {
	c := w.condition(appsv1.DeploymentProgressing)
	if !hasDeadline(w.d) || c != nil && c.Reason == reasonTimedOut {
		return
	}
	switch paused := c != nil && c.Reason == reasonPaused; {
	case w.d.Spec.Paused && !paused:
		w.setCondition(appsv1.DeploymentProgressing, corev1.ConditionUnknown, reasonPaused, "Deployment is paused")
	case !w.d.Spec.Paused && paused:
		w.setCondition(appsv1.DeploymentProgressing, corev1.ConditionUnknown, "DeploymentResumed", "Deployment is resumed")
	}
}

// count sets the numbers of the status from the ReplicaSets, and the condition Available.
func (w *rollout) count() {
	st, terminating := &w.d.Status, int32(0)
	st.ObservedGeneration = w.d.Generation
	st.Replicas, st.UpdatedReplicas, st.ReadyReplicas, st.AvailableReplicas, st.TerminatingReplicas = 0, 0, 0, 0, &terminating
	for _, rs := range w.sets {
		st.Replicas += rs.Status.Replicas
		st.ReadyReplicas += rs.Status.ReadyReplicas
		st.AvailableReplicas += rs.Status.AvailableReplicas
		if n := rs.Status.TerminatingReplicas; n != nil && st.TerminatingReplicas != nil {
			terminating += *n
		} else {
			st.TerminatingReplicas = nil // not every ReplicaSet has the number yet
		}
	}
	if w.new != nil {
		st.UpdatedReplicas = w.new.Status.Replicas
	}
	st.UnavailableReplicas = max(0, desired(w.sets)-st.AvailableReplicas)
	if st.AvailableReplicas >= *w.d.Spec.Replicas-maxUnavailable(w.d) {
		w.setCondition(appsv1.DeploymentAvailable, corev1.ConditionTrue, "MinimumReplicasAvailable", "Deployment has minimum availability.")
	} else {
		w.setCondition(appsv1.DeploymentAvailable, corev1.ConditionFalse, "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
	}
}

// complete reports whether all Pods are new and available.
func complete(d *appsv1.Deployment, st *appsv1.DeploymentStatus) bool {
	want := *d.Spec.Replicas
	return st.UpdatedReplicas == want && st.Replicas == want && st.AvailableReplicas == want && st.ObservedGeneration >= d.Generation
}

// progress sets the condition Progressing: the rollout is complete, goes on, or is stuck.
func (w *rollout) progress() {
	before, current := w.was.Status, w.condition(appsv1.DeploymentProgressing)
	w.count()
	st := &w.d.Status
	done := st.Replicas == st.UpdatedReplicas && current != nil && current.Reason == reasonAvailable
	if !hasDeadline(w.d) {
		w.dropCondition(appsv1.DeploymentProgressing)
	} else if !done {
		subject := fmt.Sprintf("Deployment %q", w.d.Name)
		if w.new != nil {
			subject = fmt.Sprintf("ReplicaSet %q", w.new.Name)
		}
		switch {
		case complete(w.d, st):
			w.setCondition(appsv1.DeploymentProgressing, corev1.ConditionTrue, reasonAvailable, subject+" has successfully progressed.")
		case st.UpdatedReplicas > before.UpdatedReplicas, st.Replicas-st.UpdatedReplicas < before.Replicas-before.UpdatedReplicas,
			st.ReadyReplicas > before.ReadyReplicas, st.AvailableReplicas > before.AvailableReplicas:
			w.dropCondition(appsv1.DeploymentProgressing)
			w.setCondition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "ReplicaSetUpdated", subject+" is progressing.")
			if current != nil && current.Status == corev1.ConditionTrue {
				st.Conditions[len(st.Conditions)-1].LastTransitionTime = current.LastTransitionTime
			}
		case w.timedOut(current):
			w.setCondition(appsv1.DeploymentProgressing, corev1.ConditionFalse, reasonTimedOut, subject+" has timed out progressing.")
		}
		w.wait()
	}
	w.failures()
}

func (w *rollout) deadline(c *appsv1.DeploymentCondition) time.Time {
	return c.LastUpdateTime.Add(time.Duration(*w.d.Spec.ProgressDeadlineSeconds) * time.Second)
}

func (w *rollout) timedOut(c *appsv1.DeploymentCondition) bool {
	switch {
	case c == nil, c.Reason == reasonAvailable:
		return false
	case c.Reason == reasonTimedOut:
		return true
	}
	return w.deadline(c).Before(w.now)
}

// wait has the Deployment reconciled again when its deadline is over.
func (w *rollout) wait() {
	if c := w.condition(appsv1.DeploymentProgressing); c != nil && !complete(w.d, &w.d.Status) && c.Reason != reasonTimedOut {
		w.again = w.deadline(c).Add(time.Second)
	}
}

// failures copies the condition ReplicaFailure of the new ReplicaSet or, if it has none, of any other one.
func (w *rollout) failures() {
	sets := w.sets
	if w.new != nil {
		sets = append([]*appsv1.ReplicaSet{w.new}, sets...)
	}
	for _, rs := range sets {
		for _, c := range rs.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure {
				w.setCondition(appsv1.DeploymentReplicaFailure, c.Status, c.Reason, c.Message)
				return
			}
		}
	}
	w.dropCondition(appsv1.DeploymentReplicaFailure)
}
