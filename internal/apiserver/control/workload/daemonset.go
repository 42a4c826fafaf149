package workload

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
	"github.com/flyball-io/flyball/internal/apiserver/control/pod"
)

// DaemonSet has the objects that the controller of a DaemonSet reads.
type DaemonSet struct {
	Set *appsv1.DaemonSet
	// Stored is the stored JSON of the set.
	Stored []byte
	// Pods has the Pods that the set controls, and those of the namespace without a controller.
	Pods []*corev1.Pod
	// Revisions has all revisions of the namespace.
	Revisions []*appsv1.ControllerRevision
	Nodes     []*corev1.Node
	// Hash returns the hash of the template for the name of its revision, given the number of collisions.
	Hash func(collisions *int32) (string, error)
}

// daemonSet is one reconcile of a DaemonSet.
type daemonSet struct {
	DaemonSet
	owner
	c     *calls.Calls
	now   time.Time
	hash  string // of the present template
	nodes []string
	// pods has the Pods of each Node, also of Nodes that are gone.
	pods map[string][]*corev1.Pod
	// running has the Nodes that are to have a Pod.
	running map[string]bool
	due     time.Time
}

var daemonSetKind = appsv1.SchemeGroupVersion.WithKind("DaemonSet")

// Sync creates and deletes Pods, and writes the status. It returns when to call it again; the zero time means after a
// change.
func (in DaemonSet) Sync(now time.Time, c *calls.Calls) (time.Time, error) {
	selector, err := control.Selecting(in.Set.Spec.Selector, in.Set.Spec.Template.Labels)
	if err != nil || in.Set.DeletionTimestamp != nil {
		return time.Time{}, err
	}
	d := &daemonSet{
		DaemonSet: in, owner: owner{Object: in.Set, Kind: daemonSetKind, Selector: selector}, c: c, now: now,
		pods: map[string][]*corev1.Pod{}, running: map[string]bool{},
	}
	old, err := d.history()
	if err != nil {
		return time.Time{}, err
	}
	all := calls.Claim(c, d.owner, in.Pods)
	for _, p := range all {
		if node := targetNode(p); node != "" && !(pod.Ended(p) && p.DeletionTimestamp != nil) {
			d.pods[node] = append(d.pods[node], p)
		}
	}
	for _, pods := range d.pods {
		slices.SortFunc(pods, byAge)
	}
	deleted := d.manage()
	if d.Set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		d.roll(deleted)
	}
	d.truncate(old, all)
	d.writeStatus()
	return d.due, nil
}

// byAge orders Pods: those with a Node first, and then the oldest.
func byAge(a, b *corev1.Pod) int {
	if (a.Spec.NodeName != "") != (b.Spec.NodeName != "") {
		if a.Spec.NodeName != "" {
			return -1
		}
		return 1
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// targetNode returns the Node that a Pod is on, or is meant for by its affinity; "" if there is none.
func targetNode(p *corev1.Pod) string {
	if p.Spec.NodeName != "" {
		return p.Spec.NodeName
	}
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, t := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, r := range t.MatchFields {
				if r.Key == "metadata.name" && r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 {
					return r.Values[0]
				}
			}
		}
	}
	return ""
}

// history finds or creates the revision of the present template. It returns the other revisions.
func (d *daemonSet) history() (old []*appsv1.ControllerRevision, err error) {
	data, err := revisionData(d.Stored)
	if err != nil {
		return nil, err
	}
	var current *appsv1.ControllerRevision
	last := int64(0)
	for _, r := range calls.Claim(d.c, d.owner, d.Revisions) {
		if !bytes.Equal(r.Data.Raw, data) {
			old, last = append(old, r), max(last, r.Revision)
		} else if current == nil || r.Revision >= current.Revision {
			current = r
		}
	}
	sortRevisions(old)
	if current != nil {
		d.hash = current.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
		if current.Revision <= last {
			d.c.PatchAt(current, nil, map[string]any{"revision": last + 1})
		}
		return old, nil
	}
	if d.hash, err = d.Hash(d.Set.Status.CollisionCount); err != nil {
		return nil, err
	}
	current = newRevision(d.owner, &d.Set.Spec.Template, data, last+1, 0)
	current.Name = d.Set.Name + "-" + d.hash
	delete(current.Labels, "controller.kubernetes.io/hash")
	current.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = d.hash
	if named(d.Revisions, current.Name) != nil { // of another template: the next reconcile has another collision count
		o := d.Set.DeepCopy()
		n := int32(1)
		if c := o.Status.CollisionCount; c != nil {
			n = *c + 1
		}
		o.Status.CollisionCount = &n
		d.c.UpdateStatus(o)
		return old, nil
	}
	d.c.Create(current)
	return old, nil
}

// shouldRun reports whether a Node is to have a Pod, and whether a Pod that is there may stay.
func (d *daemonSet) shouldRun(node *corev1.Node) (run, stay bool) {
	spec := d.Set.Spec.Template.Spec.DeepCopy()
	tolerate(spec)
	switch {
	case spec.NodeName != "" && spec.NodeName != node.Name, !pod.MatchesNode(spec, node):
		return false, false
	case !pod.Tolerates(spec.Tolerations, node, corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule):
		return false, pod.Tolerates(spec.Tolerations, node, corev1.TaintEffectNoExecute)
	}
	return true, true
}

// retryFailed is the age from which a failed Pod is replaced. Without it, a Pod that fails at once would be replaced
// for ever at one time.
const retryFailed = time.Second

// manage creates and deletes Pods, so that each Node has the Pod that it should. It returns the Pods that it deletes.
func (d *daemonSet) manage() (deleted map[*corev1.Pod]bool) {
	deleted = map[*corev1.Pod]bool{}
	remove := func(p *corev1.Pod) {
		deleted[p] = true
		d.c.Delete(p, "")
	}
	known := map[string]bool{}
	for _, node := range d.Nodes {
		known[node.Name] = true
		run, stay := d.shouldRun(node)
		if run {
			d.nodes, d.running[node.Name] = append(d.nodes, node.Name), true
		}
		pods := d.pods[node.Name]
		if !stay {
			for _, p := range pods {
				if p.DeletionTimestamp == nil {
					remove(p)
				}
			}
			continue
		}
		if run && len(pods) == 0 {
			d.create(node.Name)
			continue
		}
		var running []*corev1.Pod
		for _, p := range pods {
			switch at := p.CreationTimestamp.Add(retryFailed); {
			case p.DeletionTimestamp != nil:
			case p.Status.Phase == corev1.PodFailed && at.After(d.now):
				d.due = sooner(d.due, at)
			case p.Status.Phase == corev1.PodFailed:
				d.c.Warn(d.Set, "FailedDaemonPod", fmt.Sprintf("Found failed daemon pod %s/%s on node %s, will try to kill it", p.Namespace, p.Name, node.Name))
				remove(p)
			case pod.Ended(p):
				d.c.Tell(d.Set, "SucceededDaemonPod", fmt.Sprintf("Found succeeded daemon pod %s/%s on node %s, will try to delete it", p.Namespace, p.Name, node.Name))
				remove(p)
			default:
				running = append(running, p)
			}
		}
		d.prune(node.Name, running, run, remove)
	}
	for _, node := range slices.Sorted(maps.Keys(d.pods)) {
		for _, p := range d.pods[node] {
			if !known[node] && p.Spec.NodeName == "" && p.DeletionTimestamp == nil {
				remove(p)
			}
		}
	}
	return deleted
}

// prune deletes the running Pods of a Node that are too many. While a new Pod replaces an old one, both may stay.
func (d *daemonSet) prune(node string, running []*corev1.Pod, run bool, remove func(*corev1.Pod)) {
	surge := d.allowed(d.surge(), 1) > 0
	if !surge || len(running) <= 1 {
		for i, p := range running {
			if i > 0 {
				remove(p)
			}
		}
		if surge && len(running) == 0 && run {
			d.create(node)
		}
		return
	}
	var fresh, old *corev1.Pod
	for _, p := range running {
		switch isNew := p.Labels[appsv1.ControllerRevisionHashLabelKey] == d.hash; {
		case isNew && fresh == nil:
			fresh = p
		case !isNew && old == nil:
			old = p
		default:
			remove(p)
		}
	}
	if fresh != nil && old != nil && (!pod.Ready(old) || d.available(fresh)) {
		remove(old)
	}
}

func (d *daemonSet) available(p *corev1.Pod) bool {
	ok, due := pod.Available(p, d.Set.Spec.MinReadySeconds, d.now)
	d.due = sooner(d.due, due)
	return ok
}

// create creates the Pod of a Node.
func (d *daemonSet) create(node string) {
	p := pod.FromTemplate(&d.Set.Spec.Template, d.owner.Reference(), d.owner)
	if text, ok := d.Set.Annotations[appsv1.DeprecatedTemplateGeneration]; ok {
		if _, err := strconv.ParseInt(text, 10, 64); err == nil {
			setLabel(p, "pod-template-generation", text)
		}
	}
	setLabel(p, appsv1.DefaultDaemonSetUniqueLabelKey, d.hash)
	tolerate(&p.Spec)
	bindTo(&p.Spec, node)
	d.c.Create(p)
}

// truncate deletes the oldest revisions that no Pod has, beyond the limit of the history.
func (d *daemonSet) truncate(old []*appsv1.ControllerRevision, pods []*corev1.Pod) {
	live := map[string]bool{}
	for _, p := range pods {
		live[p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]] = true
	}
	excess := len(old) - int(*d.Set.Spec.RevisionHistoryLimit)
	for _, r := range old {
		if excess > 0 && !live[r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]] {
			d.c.Delete(r, "")
			excess--
		}
	}
}

// writeStatus writes the status if it has changed.
func (d *daemonSet) writeStatus() {
	st := appsv1.DaemonSetStatus{ObservedGeneration: d.Set.Generation, CollisionCount: d.Set.Status.CollisionCount, Conditions: d.Set.Status.Conditions}
	for _, node := range d.Nodes {
		pods := d.pods[node.Name]
		switch {
		case !d.running[node.Name] && len(pods) > 0:
			st.NumberMisscheduled++
		case d.running[node.Name]:
			st.DesiredNumberScheduled++
			if len(pods) == 0 {
				continue
			}
			st.CurrentNumberScheduled++
			if p := pods[0]; pod.Ready(p) {
				st.NumberReady++
				if d.available(p) {
					st.NumberAvailable++
				}
			}
			if d.updated(pods[0]) {
				st.UpdatedNumberScheduled++
			}
		}
	}
	st.NumberUnavailable = st.DesiredNumberScheduled - st.NumberAvailable
	old := d.Set.Status
	if st.DesiredNumberScheduled == old.DesiredNumberScheduled && st.CurrentNumberScheduled == old.CurrentNumberScheduled &&
		st.NumberMisscheduled == old.NumberMisscheduled && st.NumberReady == old.NumberReady && st.UpdatedNumberScheduled == old.UpdatedNumberScheduled &&
		st.NumberAvailable == old.NumberAvailable && st.NumberUnavailable == old.NumberUnavailable && old.ObservedGeneration >= st.ObservedGeneration {
		return
	}
	o := d.Set.DeepCopy()
	o.Status = st
	d.c.UpdateStatus(o)
}
