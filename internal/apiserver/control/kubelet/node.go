package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/core"
)

const (
	nodeAddress = "127.0.0.1"
	version     = "kwok-0.8.0"
)

// conditions has the conditions of a healthy Node.
var conditions = []corev1.NodeCondition{
	{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"},
	{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "kubelet has sufficient memory available"},
	{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "kubelet has no disk pressure"},
	{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", Message: "kubelet has sufficient PID available"},
	{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: "RouteCreated", Message: "RouteController created a route"},
}

// initialize returns the requests that make a new Node ready: they write its status, and remove the taint not-ready.
func initialize(now time.Time, n *corev1.Node) (out []core.Request) {
	user := userOf(n.Name)
	ready := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	switch {
	case ready < 0:
		n = n.DeepCopy()
		fill(now, n)
		return []core.Request{user.UpdateStatus(control.Nodes, n)}
	case n.Status.Conditions[ready].Status != corev1.ConditionTrue:
		return nil // its creator has set the conditions
	}
	notReady := func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady }
	if slices.ContainsFunc(n.Spec.Taints, notReady) {
		n = n.DeepCopy()
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, notReady)
		out = append(out, control.ServiceAccount("node-controller").Update(control.Nodes, n))
	}
	return out
}

// fill completes the status of a Node.
func fill(now time.Time, n *corev1.Node) {
	st := &n.Status
	for _, c := range conditions {
		c.LastHeartbeatTime, c.LastTransitionTime = *seconds(now), n.CreationTimestamp
		st.Conditions = append(st.Conditions, c)
	}
	if addressOf(n) == "" {
		st.Addresses = append(st.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: nodeAddress})
	}
	room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1k"), corev1.ResourceMemory: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse("1M")}
	if len(st.Allocatable) == 0 {
		st.Allocatable = room
	}
	if len(st.Capacity) == 0 {
		st.Capacity = room
	}
	proxy := &st.NodeInfo.KubeProxyVersion //lint:ignore SA1019 kwok sets it
	for _, field := range []*string{&st.NodeInfo.ContainerRuntimeVersion, &st.NodeInfo.KernelVersion, &st.NodeInfo.KubeletVersion, proxy} {
		if *field == "" {
			*field = version
		}
	}
	if st.NodeInfo.Architecture == "" {
		st.NodeInfo.Architecture = "amd64"
	}
	if st.NodeInfo.OperatingSystem == "" {
		st.NodeInfo.OperatingSystem = "linux"
	}
	st.Phase = corev1.NodeRunning
}

// addressOf returns the internal address of a Node; "" if it has none.
func addressOf(n *corev1.Node) string {
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}
