// Package kubelet has the controller that acts as the kubelets of all Nodes. No container runs: the controller only
// writes the status of Pods and Nodes, at once or as annotations of the Pod say.
//
//	bound ──▶ Running and Ready ──▶ a Job's Pod: Succeeded
//	being deleted ──▶ gone
//
// Without annotations it writes what the fast stages of kwok write. See [Script] for the annotations.
package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/pod"
	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// New returns the controller that acts as all kubelets.
func New(control.Options) control.Controller {
	k := &kubelet{addresses: newAddresses()}
	k.Keyed = control.Keyed{Title: "kubelet", Map: k.mapChange, Reconcile: k.reconcile}
	return k
}

type kubelet struct {
	control.Keyed
	addresses *addresses
}

// Boot returns the requests that create a Node, if the cluster has none.
func Boot(v core.View) []core.Request {
	for range v.All(control.Nodes.Prefix("")) {
		return nil
	}
	room := corev1.ResourceList{}
	for name, amount := range map[corev1.ResourceName]string{corev1.ResourceCPU: "1M", corev1.ResourceMemory: "1Pi", corev1.ResourceEphemeralStorage: "1Pi", corev1.ResourcePods: "1M"} {
		room[name] = resource.MustParse(amount)
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: firstNode, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0"},
			Labels: map[string]string{corev1.LabelHostname: firstNode, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64", "type": "kwok"},
		},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room},
	}
	return []core.Request{userOf(firstNode).Create(control.Nodes, node)}
}

// firstNode is the name of the Node that a cluster begins with.
const firstNode = "node-0"

// userOf returns the user of the kubelet of a Node. It is an administrator: there is no node authorizer.
func userOf(node string) control.User {
	return control.User{Name: "system:node:" + node, Groups: []string{"system:nodes", "system:masters", "system:authenticated"}, Agent: "kubelet"}
}

// mapChange adds Pods and Nodes that have changed, and the Pods of a new Node.
func (k *kubelet) mapChange(s *control.State, c control.Change, add func(string)) {
	switch {
	case c.In(control.Pods):
		p := control.Get[corev1.Pod](s, c.Key)
		k.addresses.observe(c.Key, p)
		if p != nil && p.Spec.NodeName != "" {
			add(c.Key)
		}
	case c.In(control.Nodes) && c.Is != nil:
		add(c.Key)
		if c.Was == nil {
			for key, p := range control.List[corev1.Pod](s, control.Pods, "") {
				if p.Spec.NodeName == c.Is.Name {
					add(key)
				}
			}
		}
	}
}

func (k *kubelet) reconcile(now time.Time, s *control.State, key string) (r control.Result) {
	if control.Nodes.Has(key) {
		if n := control.Get[corev1.Node](s, key); n != nil {
			r.Requests = initialize(now, n)
		}
		return r
	}
	p := control.Get[corev1.Pod](s, key)
	if p == nil || p.Spec.NodeName == "" {
		return r
	}
	n := control.Get[corev1.Node](s, control.Nodes.Key("", p.Spec.NodeName))
	if n == nil {
		return r // without a Node there is no kubelet
	}
	user, script := userOf(n.Name), scriptOf(p)
	if p.DeletionTimestamp != nil {
		end := stopped(p, script)
		switch {
		case p.DeletionGracePeriodSeconds != nil && *p.DeletionGracePeriodSeconds == 0:
			// The server deletes it, or its finalizers hold it.
		case end.After(now):
			r.At = end
		default:
			zero := int64(0)
			r.Requests = append(r.Requests, user.Delete(control.Pods.Path(p.Namespace, p.Name, ""), metav1.DeleteOptions{GracePeriodSeconds: &zero, Preconditions: metav1.NewUIDPreconditions(string(p.UID))}))
		}
		return r
	}
	next := p.DeepCopy()
	r.At = advance(now, next, script)
	if equality.Semantic.DeepEqual(p.Status, next.Status) {
		return r
	}
	if next.Status.PodIP == "" && (next.Status.Phase == corev1.PodRunning || pod.Ended(next)) {
		k.addresses.give(key, next, n)
	}
	r.Requests = append(r.Requests, user.UpdateStatus(control.Pods, next))
	return r
}

// stopped returns when a Pod that is being deleted has stopped: after the time of its script, or when its grace period
// is over.
func stopped(p *corev1.Pod, s Script) time.Time {
	grace := time.Duration(0)
	if p.DeletionGracePeriodSeconds != nil {
		grace = time.Duration(*p.DeletionGracePeriodSeconds) * time.Second
	}
	asked := p.DeletionTimestamp.Add(-grace)
	return asked.Add(min(grace, s.Stop))
}
