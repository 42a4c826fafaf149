package scheduler

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control/pod"
)

// usage is the requested amount of each resource: in thousandths of a CPU, in bytes, or in units.
type usage struct {
	pods      int64
	resources map[corev1.ResourceName]int64
}

func (u *usage) add(other usage, sign int64) {
	if u.resources == nil {
		u.resources = map[corev1.ResourceName]int64{}
	}
	u.pods += sign * other.pods
	for name, n := range other.resources {
		u.resources[name] += sign * n
	}
}

func amount(name corev1.ResourceName, list corev1.ResourceList) int64 {
	q := list[name]
	if name == corev1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}

// usageOf returns the usage of a Pod. Its containers run together; its init containers run one after the other, beside
// those before them that restart always.
func usageOf(p *corev1.Pod) usage {
	u := usage{pods: 1, resources: map[corev1.ResourceName]int64{}}
	most, stay := map[corev1.ResourceName]int64{}, map[corev1.ResourceName]int64{}
	for _, c := range p.Spec.InitContainers {
		stays := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		for name := range c.Resources.Requests {
			n := amount(name, c.Resources.Requests)
			if stays {
				stay[name] += n
				n = 0
			}
			most[name] = max(most[name], stay[name]+n)
		}
	}
	for _, c := range p.Spec.Containers {
		for name := range c.Resources.Requests {
			u.resources[name] += amount(name, c.Resources.Requests)
		}
	}
	for name, n := range stay {
		u.resources[name] += n
	}
	for name, n := range most {
		u.resources[name] = max(u.resources[name], n)
	}
	for name := range p.Spec.Overhead {
		u.resources[name] += amount(name, p.Spec.Overhead)
	}
	return u
}

// misfit returns the reasons why a Pod does not fit on a Node; none if it fits. resolvable says that it would fit
// without the other Pods of the Node.
func misfit(p *corev1.Pod, n *corev1.Node, u usage, used *usage) (why []string, resolvable bool) {
	switch {
	case n.Spec.Unschedulable && !tolerates(p, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}):
		return []string{"node(s) were unschedulable"}, false
	case !pod.Tolerates(p.Spec.Tolerations, n, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute):
		return []string{"node(s) had untolerated taint(s)"}, false
	case !pod.MatchesNode(&p.Spec, n):
		return []string{"node(s) didn't match Pod's node affinity/selector"}, false
	}
	resolvable = true
	if room := amount(corev1.ResourcePods, n.Status.Allocatable); used.pods+1 > room {
		why = append(why, "Too many pods")
		resolvable = room > 0
	}
	for _, name := range slices.Sorted(maps.Keys(u.resources)) {
		room := amount(name, n.Status.Allocatable)
		if need := u.resources[name]; need > 0 && need > room-used.resources[name] {
			why = append(why, "Insufficient "+string(name))
			resolvable = resolvable && need <= room
		}
	}
	return why, resolvable
}

// tolerates reports whether a Pod tolerates a taint.
func tolerates(p *corev1.Pod, t corev1.Taint) bool {
	return slices.ContainsFunc(p.Spec.Tolerations, func(x corev1.Toleration) bool { return pod.ToleratesTaint(x, t) })
}
