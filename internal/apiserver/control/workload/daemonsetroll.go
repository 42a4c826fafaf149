package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// surge returns how many new Pods may run beside old ones; nil if none may.
func (d *daemonSet) surge() *intstr.IntOrString {
	if u := d.Set.Spec.UpdateStrategy; u.Type == appsv1.RollingUpdateDaemonSetStrategyType && u.RollingUpdate != nil {
		return u.RollingUpdate.MaxSurge
	}
	return nil
}

// allowed resolves a number, or a share of the Nodes, which is rounded up.
func (d *daemonSet) allowed(n *intstr.IntOrString, nodes int) int {
	if n == nil {
		return 0
	}
	out, err := intstr.GetScaledValueFromIntOrPercent(n, nodes, true)
	if err != nil {
		return 0 // the server has validated it
	}
	return out
}

// updated reports whether a Pod has the present template.
func (d *daemonSet) updated(p *corev1.Pod) bool {
	generation, ok := d.Set.Annotations[appsv1.DeprecatedTemplateGeneration]
	return d.hash != "" && p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == d.hash || ok && p.Labels["pod-template-generation"] == generation
}

// pair returns the Pod of a Node with the present template, and the one with an older template. ok is false if there
// are more.
func (d *daemonSet) pair(pods []*corev1.Pod) (fresh, old *corev1.Pod, ok bool) {
	for _, p := range pods {
		switch {
		case p.DeletionTimestamp != nil:
		case d.updated(p) && fresh == nil:
			fresh = p
		case !d.updated(p) && old == nil:
			old = p
		default:
			return nil, nil, false
		}
	}
	return fresh, old, true
}

// roll deletes Pods of older templates, as many at once as the strategy allows. manage replaces them.
func (d *daemonSet) roll(deleted map[*corev1.Pod]bool) {
	var unavailable int
	if r := d.Set.Spec.UpdateStrategy.RollingUpdate; r != nil {
		unavailable = d.allowed(r.MaxUnavailable, len(d.nodes))
	}
	surge := d.allowed(d.surge(), len(d.nodes))
	if len(d.nodes) > 0 && unavailable == 0 && surge == 0 {
		unavailable = 1
	}
	remove := func(p *corev1.Pod) {
		if !deleted[p] {
			d.c.Delete(p, "")
		}
	}
	if surge > 0 {
		d.rollBySurge(surge, remove)
		return
	}
	missing := 0 // nodes without an available pod
	var dead, candidates []*corev1.Pod
	for _, node := range d.everyNode() {
		fresh, old, ok := d.pair(d.pods[node])
		switch {
		case !ok, (fresh == nil) == (old == nil):
			missing++
		case fresh != nil:
			if !d.available(fresh) {
				missing++
			}
		case !d.available(old):
			dead = append(dead, old)
			missing++
		default:
			candidates = append(candidates, old)
		}
	}
	for _, p := range dead {
		remove(p)
	}
	for _, p := range candidates[:min(len(candidates), max(0, unavailable-missing))] {
		remove(p)
	}
}

// rollBySurge creates new Pods beside old ones, and deletes an old one when the new one is available.
func (d *daemonSet) rollBySurge(surge int, remove func(*corev1.Pod)) {
	surging, available := 0, 0
	var now, candidates []string
	var misplaced []*corev1.Pod
	for _, node := range d.everyNode() {
		fresh, old, ok := d.pair(d.pods[node])
		if !ok {
			surging++
			continue
		}
		if old != nil && d.available(old) || old == nil && fresh != nil && d.available(fresh) {
			available++
		}
		switch {
		case old == nil:
		case fresh != nil && d.available(fresh):
			remove(old)
		case fresh != nil:
			surging++
		case !d.available(old) && !d.running[node]:
			remove(old)
		case !d.available(old):
			now = append(now, node)
		case !d.running[node]:
			misplaced = append(misplaced, old)
		default:
			candidates = append(candidates, node)
		}
	}
	for _, p := range misplaced[:min(len(misplaced), max(0, available-len(d.nodes)))] {
		remove(p)
	}
	for _, node := range append(now, candidates[:min(len(candidates), max(0, surge-surging))]...) {
		d.create(node)
	}
}

// everyNode returns the names of the Nodes that have Pods of the set or are to have one, sorted.
func (d *daemonSet) everyNode() []string {
	var out []string
	for _, node := range d.Nodes {
		if _, ok := d.pods[node.Name]; ok || d.running[node.Name] {
			out = append(out, node.Name)
		}
	}
	return out
}

// tolerate adds the tolerations that all Pods of DaemonSets have.
func tolerate(spec *corev1.PodSpec) {
	want := []corev1.Toleration{
		{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeDiskPressure, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeMemoryPressure, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodePIDPressure, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
	}
	if spec.HostNetwork {
		want = append(want, corev1.Toleration{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule})
	}
	for _, t := range want {
		t.Operator = corev1.TolerationOpExists
		replaced := false
		for i := range spec.Tolerations {
			if x := &spec.Tolerations[i]; x.MatchToleration(&t) {
				*x, replaced = t, true
			}
		}
		if !replaced {
			spec.Tolerations = append(spec.Tolerations, t)
		}
	}
}

// bindTo restricts a Pod to one Node by its affinity.
func bindTo(spec *corev1.PodSpec, node string) {
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
	}}}
}
