package scheduler

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func node() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": "a", "size": "5"}},
		Status:     corev1.NodeStatus{Allocatable: list("cpu=2", "memory=1Gi", "pods=3")},
	}
}

func list(all ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, text := range all {
		var name, amount string
		for i := range text {
			if text[i] == '=' {
				name, amount = text[:i], text[i+1:]
			}
		}
		out[corev1.ResourceName(name)] = resource.MustParse(amount)
	}
	return out
}

func asks(all ...string) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list(all...)}}}}}
}

// affine is a Pod that requires something of the labels of its node, or of its fields.
func affine(field bool, key string, op corev1.NodeSelectorOperator, values ...string) *corev1.Pod {
	r := []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}
	term := corev1.NodeSelectorTerm{MatchExpressions: r}
	if field {
		term = corev1.NodeSelectorTerm{MatchFields: r}
	}
	p := asks()
	p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}, term}}}}
	return p
}

func TestMisfit(t *testing.T) {
	tainted := func(effect corev1.TaintEffect) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Value: "v", Effect: effect}} }
	}
	tolerant := func(x corev1.Toleration) *corev1.Pod {
		p := asks()
		p.Spec.Tolerations = []corev1.Toleration{x}
		return p
	}
	full := func(n *corev1.Node) { n.Status.Allocatable = list("cpu=2", "memory=1Gi", "pods=1") }
	selector, taint, affinity := asks(), "[node(s) had untolerated taint(s)] false", "[node(s) didn't match Pod's node affinity/selector] false"
	selector.Spec.NodeSelector = map[string]string{"zone": "b"}
	const fits = "[] true"
	for i, c := range []struct {
		pod    *corev1.Pod
		change func(*corev1.Node)
		want   string
	}{
		{asks("cpu=1500m"), nil, fits},
		{asks("cpu=1501m"), nil, "[Insufficient cpu] true"},
		{asks("cpu=3", "memory=2Gi", "example.com/x=1"), nil, "[Insufficient cpu Insufficient example.com/x Insufficient memory] false"},
		{asks(), full, "[Too many pods] true"},
		{selector, nil, affinity},
		{asks(), func(n *corev1.Node) { n.Spec.Unschedulable = true }, "[node(s) were unschedulable] false"},
		{tolerant(corev1.Toleration{Operator: corev1.TolerationOpExists}), func(n *corev1.Node) { n.Spec.Unschedulable = true }, fits},
		{asks(), tainted(corev1.TaintEffectNoSchedule), taint},
		{asks(), tainted(corev1.TaintEffectNoExecute), taint},
		{asks(), tainted(corev1.TaintEffectPreferNoSchedule), fits},
		{tolerant(corev1.Toleration{Key: "k", Value: "v"}), tainted(corev1.TaintEffectNoSchedule), fits},
		{tolerant(corev1.Toleration{Key: "k", Value: "w"}), tainted(corev1.TaintEffectNoSchedule), taint},
		{tolerant(corev1.Toleration{Key: "k", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}), tainted(corev1.TaintEffectNoExecute), taint},
		{affine(false, "zone", corev1.NodeSelectorOpIn, "a", "b"), nil, fits},
		{affine(false, "zone", corev1.NodeSelectorOpNotIn, "a"), nil, affinity},
		{affine(false, "size", corev1.NodeSelectorOpGt, "4"), nil, fits},
		{affine(false, "size", corev1.NodeSelectorOpLt, "4"), nil, affinity},
		{affine(false, "other", corev1.NodeSelectorOpExists), nil, affinity},
		{affine(false, "other", corev1.NodeSelectorOpDoesNotExist), nil, fits},
		{affine(true, "metadata.name", corev1.NodeSelectorOpIn, "n"), nil, fits},
		{affine(true, "metadata.name", corev1.NodeSelectorOpIn, "m"), nil, affinity},
	} {
		n := node()
		if c.change != nil {
			c.change(n)
		}
		used := &usage{}
		used.add(usageOf(asks("cpu=500m")), 1)
		why, resolvable := misfit(c.pod, n, usageOf(c.pod), used)
		if got := fmt.Sprint(why, resolvable); got != c.want {
			t.Errorf("%d: %s, want %s", i, got, c.want)
		}
	}
}

// Containers run together, init containers one after the other, and sidecars beside both.
func TestUsage(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	p := asks("cpu=1", "memory=1")
	p.Spec.Containers = append(p.Spec.Containers, p.Spec.Containers[0])
	p.Spec.InitContainers = []corev1.Container{
		{Resources: corev1.ResourceRequirements{Requests: list("cpu=5")}},
		{RestartPolicy: &always, Resources: corev1.ResourceRequirements{Requests: list("memory=3")}},
		{Resources: corev1.ResourceRequirements{Requests: list("memory=1")}},
	}
	p.Spec.Overhead = list("cpu=100m")
	if u := usageOf(p); u.pods != 1 || fmt.Sprint(u.resources) != "map[cpu:5100 memory:5]" {
		t.Errorf("%+v", u)
	}
}

func TestMessage(t *testing.T) {
	if got := message(0, 0, "", nil); got != "no nodes available to schedule pods" {
		t.Error(got)
	}
	got := message(3, 2, "", map[string]int{"Insufficient cpu": 1, "node(s) were unschedulable": 2})
	want := "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable. no new claims to deallocate, preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."
	if got != want {
		t.Errorf("got %s", got)
	}
}
