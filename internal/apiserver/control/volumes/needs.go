package volumes

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
	"github.com/flyball-io/flyball/internal/apiserver/control/pod"
)

// noProvisioner is the provisioner of classes whose volumes nobody makes.
const noProvisioner = "kubernetes.io/no-provisioner"

// Needs are the claims of a Pod that has no Node yet.
type Needs struct {
	world *world
	bound []*corev1.PersistentVolumeClaim
	// open are bound when a Node was chosen, the smallest first.
	open []*corev1.PersistentVolumeClaim
}

// NeedsOf returns the needs of a Pod. If no Node is good enough for them, it returns why, in the words of the real
// scheduler.
func NeedsOf(s *control.State, p *corev1.Pod) (n *Needs, why string) {
	n = &Needs{}
	var claims []*corev1.PersistentVolumeClaim
	for _, v := range p.Spec.Volumes {
		var name string
		switch {
		case v.PersistentVolumeClaim != nil:
			name = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			name = p.Name + "-" + v.Name
		default:
			continue
		}
		c := control.Get[corev1.PersistentVolumeClaim](s, calls.Claims.Key(p.Namespace, name))
		switch {
		case c == nil && v.Ephemeral != nil:
			return nil, fmt.Sprintf("waiting for ephemeral volume controller to create the persistentvolumeclaim %q", name)
		case c == nil:
			return nil, fmt.Sprintf("persistentvolumeclaim %q not found", name)
		case c.Status.Phase == corev1.ClaimLost:
			return nil, fmt.Sprintf("persistentvolumeclaim %q bound to non-existent persistentvolume %q", name, c.Spec.VolumeName)
		case c.DeletionTimestamp != nil:
			return nil, fmt.Sprintf("persistentvolumeclaim %q is being deleted", name)
		case v.Ephemeral != nil && !metav1.IsControlledBy(c, p):
			return nil, fmt.Sprintf("PVC %s/%s was not created for pod %s/%s (pod is not owner)", c.Namespace, c.Name, p.Namespace, p.Name)
		}
		claims = append(claims, c)
	}
	if claims == nil {
		return n, ""
	}
	n.world = worldOf(s)
	for _, c := range claims {
		_, completed := c.Annotations[bindCompleted]
		switch {
		case completed && c.Spec.VolumeName != "":
			n.bound = append(n.bound, c)
		case c.Spec.VolumeName == "" && n.world.delays(c):
			n.open = append(n.open, c)
		default:
			return nil, "pod has unbound immediate PersistentVolumeClaims"
		}
	}
	slices.SortStableFunc(n.open, func(a, b *corev1.PersistentVolumeClaim) int {
		x, y := a.Spec.Resources.Requests[corev1.ResourceStorage], b.Spec.Resources.Requests[corev1.ResourceStorage]
		return x.Cmp(y)
	})
	return n, ""
}

// Misfit says why the claims keep a Pod from a Node; nothing if they do not.
func (n *Needs) Misfit(node *corev1.Node) (why []string) {
	for _, c := range n.bound {
		i := slices.IndexFunc(n.world.volumes, func(v *corev1.PersistentVolume) bool { return v.Name == c.Spec.VolumeName })
		if i < 0 {
			why = append(why, "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)")
			break
		}
		if !reaches(n.world.volumes[i], node) {
			why = append(why, "node(s) didn't match PersistentVolume's node affinity")
			break
		}
	}
	if _, ok := n.choose(node); !ok {
		why = append(why, "node(s) didn't find available persistent volumes to bind")
	}
	slices.Sort(why)
	return why
}

// Reserve has volumes bound to the open claims of a Pod that gets a Node, or made for them. It reports whether there are
// none: until then the Pod has to wait.
func (n *Needs) Reserve(c *calls.Calls, node *corev1.Node) (ready bool) {
	chosen, _ := n.choose(node)
	for i, claim := range n.open {
		if v := chosen[i]; v != nil {
			reserve(c, v, claim)
		} else if claim.Annotations[selectedNode] != node.Name {
			c.UpdateAt(claim, map[string]any{"annotations": map[string]any{selectedNode: node.Name}}, nil)
		}
	}
	return len(n.open) == 0
}

// choose returns the volume for each open claim; nil for one that is to be made. ok is false if that cannot be.
func (n *Needs) choose(node *corev1.Node) (chosen []*corev1.PersistentVolume, ok bool) {
	for _, c := range n.open {
		selected := c.Annotations[selectedNode]
		var v *corev1.PersistentVolume
		if selected == "" {
			v = n.world.best(c, true, func(v *corev1.PersistentVolume) bool { return reaches(v, node) && !slices.Contains(chosen, v) })
		}
		chosen = append(chosen, v)
		class := n.world.class(claimClass(c))
		if v == nil && (selected != "" && selected != node.Name || class.Provisioner == noProvisioner || !allows(class.AllowedTopologies, node)) {
			return nil, false
		}
	}
	return chosen, true
}

// reaches reports whether a volume can be used on a Node.
func reaches(v *corev1.PersistentVolume, node *corev1.Node) bool {
	return v.Spec.NodeAffinity == nil || v.Spec.NodeAffinity.Required == nil || pod.Selects(v.Spec.NodeAffinity.Required, node)
}

// allows reports whether a Node is in one of some topologies. No topologies allow all Nodes.
func allows(topologies []corev1.TopologySelectorTerm, node *corev1.Node) bool {
	return len(topologies) == 0 || slices.ContainsFunc(topologies, func(t corev1.TopologySelectorTerm) bool {
		return !slices.ContainsFunc(t.MatchLabelExpressions, func(r corev1.TopologySelectorLabelRequirement) bool {
			return !slices.Contains(r.Values, node.Labels[r.Key])
		})
	})
}
