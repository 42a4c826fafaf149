package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/pod"
)

// quarantine is how long a Node must be gone until its Pods are deleted.
const quarantine = 40 * time.Second

var collector = control.ServiceAccount("pod-garbage-collector")

// Lost returns the controller that deletes the Pods of Nodes that are gone, as the real garbage collector of Pods does.
func Lost(control.Options) control.Controller {
	l := &lost{since: map[string]time.Time{}}
	l.Keyed = control.Keyed{Title: "pod-garbage-collector-controller", Map: l.mapChange, Reconcile: l.reconcile}
	return l
}

type lost struct {
	control.Keyed
	since map[string]time.Time // when a Node was missed first
}

func (l *lost) mapChange(s *control.State, c control.Change, add func(string)) {
	switch {
	case c.In(control.Pods) && c.Is != nil:
		if control.Get[corev1.Pod](s, c.Key).Spec.NodeName != "" {
			add(c.Key)
		}
	case c.In(control.Nodes) && c.Is == nil:
		for key, p := range control.List[corev1.Pod](s, control.Pods, "") {
			if p.Spec.NodeName == c.Was.Name {
				add(key)
			}
		}
	}
}

func (l *lost) reconcile(now time.Time, s *control.State, key string) (r control.Result) {
	p := control.Get[corev1.Pod](s, key)
	if p == nil || p.Spec.NodeName == "" {
		return r
	}
	node := p.Spec.NodeName
	if s.Meta(control.Nodes.Key("", node)) != nil {
		delete(l.since, node)
		return r
	}
	if l.since[node].IsZero() {
		l.since[node] = now
	}
	if end := l.since[node].Add(quarantine); end.After(now) {
		r.At = end
		return r
	}
	if !pod.Ended(p) {
		failed := p.DeepCopy()
		failed.Status.Phase = corev1.PodFailed
		set(now, failed, corev1.DisruptionTarget, true, "DeletionByPodGC", "PodGC: node no longer exists")
		r.Requests = append(r.Requests, collector.UpdateStatus(control.Pods, failed))
	}
	zero := int64(0)
	r.Requests = append(r.Requests, collector.Delete(control.Pods.Path(p.Namespace, p.Name, ""), metav1.DeleteOptions{GracePeriodSeconds: &zero, Preconditions: metav1.NewUIDPreconditions(string(p.UID))}))
	return r
}
