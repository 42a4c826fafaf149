package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control/pod"
)

// run creates, repairs and deletes Pods. If the set is ordered, it stops at the first Pod for which others wait.
func (s *statefulSet) run() {
	ordered := s.Set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
	unhealthy := s.firstUnhealthy()
	done := func() bool {
		for _, p := range s.replicas {
			if s.replica(p, ordered) && ordered {
				return false
			}
		}
		for _, p := range s.condemned {
			s.matchClaims(p)
		}
		for _, p := range s.condemned {
			if s.condemn(p, ordered, unhealthy) && ordered {
				return false
			}
		}
		return true
	}()
	s.count(s.replicas, s.condemned)
	if done && s.Set.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType {
		s.roll()
	}
}

// firstUnhealthy returns the Pod with the lowest ordinal that is not available; nil if all are.
func (s *statefulSet) firstUnhealthy() *corev1.Pod {
	for _, p := range s.replicas {
		if s.unavailable(p) {
			return p
		}
	}
	for i := len(s.condemned) - 1; i >= 0; i-- {
		if s.unavailable(s.condemned[i]) {
			return s.condemned[i]
		}
	}
	return nil
}

func (s *statefulSet) unavailable(p *corev1.Pod) bool {
	return !s.available(p) || p.DeletionTimestamp != nil
}

// replica creates, replaces or repairs one Pod of the set. It reports whether the Pods after it have to wait.
func (s *statefulSet) replica(p *corev1.Pod, ordered bool) (wait bool) {
	if pod.Ended(p) {
		if p.DeletionTimestamp == nil {
			s.c.Delete(p, "")
		}
		return true
	}
	if p.Status.Phase == "" {
		if s.hasStaleClaim(p) {
			return true
		}
		if s.createClaims(p) {
			s.c.Create(p)
			s.matchClaims(p)
		}
		return true
	}
	if p.Status.Phase == corev1.PodPending && s.createClaims(p) {
		s.matchClaims(p)
	}
	if ordered && (p.DeletionTimestamp != nil || !isRunningAndReady(p) || !s.available(p)) {
		return true
	}
	s.matchClaims(p)
	if p.Labels[appsv1.StatefulSetPodNameLabel] != p.Name {
		p = p.DeepCopy()
		s.identify(p)
		s.c.PatchAt(p, map[string]any{"labels": p.Labels}, nil)
	}
	return false
}

// condemn deletes a condemned Pod. It reports whether the other ones have to wait.
func (s *statefulSet) condemn(p *corev1.Pod, ordered bool, unhealthy *corev1.Pod) (wait bool) {
	switch {
	case p.DeletionTimestamp != nil:
		return true
	case ordered && p != unhealthy && (!isRunningAndReady(p) || !s.available(p)):
		return true
	}
	s.c.Delete(p, "")
	return true
}

// roll deletes the Pod with the highest ordinal that lacks the update revision, when all above it are available.
func (s *statefulSet) roll() {
	lowest := 0
	if u := s.Set.Spec.UpdateStrategy.RollingUpdate; u != nil {
		lowest = int(*u.Partition)
	}
	for i := len(s.replicas) - 1; i >= lowest; i-- {
		p := s.replicas[i]
		if revisionOf(p) != s.update.Name && p.DeletionTimestamp == nil {
			s.c.Delete(p, "")
			s.status.CurrentReplicas--
			return
		}
		if s.unavailable(p) {
			return
		}
	}
}
