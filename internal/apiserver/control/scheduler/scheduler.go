// Package scheduler has the controller that binds Pods to Nodes.
//
//	Pod without a node ──▶ fit: selector and affinity, taints, resources ──▶ the Node with the fewest Pods ──▶ binding
//	                              └── no Node fits ──▶ condition PodScheduled, reason Unschedulable; tried again later
package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
	"github.com/flyball-io/flyball/internal/apiserver/control/pod"
	"github.com/flyball-io/flyball/internal/apiserver/control/volumes"
	"github.com/flyball-io/flyball/internal/apiserver/core"
)

var user = control.User{Name: "system:kube-scheduler", Groups: []string{"system:authenticated"}, Agent: "kube-scheduler"}

// New returns the scheduler.
func New(control.Options) control.Controller {
	s := &scheduler{used: map[string]*usage{}, pods: map[string]placed{}, pending: map[string]bool{}}
	s.Keyed = control.Keyed{Title: "kube-scheduler", Map: s.mapChange, Reconcile: s.place}
	return s
}

// scheduler keeps the usage of each Node.
type scheduler struct {
	control.Keyed
	used    map[string]*usage // by the name of the node
	pods    map[string]placed // by key
	pending map[string]bool   // the keys of Pods that fit on no Node, or wait for their volumes
}

// placed is the Node of a Pod, and its usage there.
type placed struct {
	node string
	usage
}

// mapChange adds Pods that need a Node. When room becomes free, it adds all that fit on no Node so far.
func (s *scheduler) mapChange(v *control.State, c control.Change, add func(string)) {
	room := false
	switch {
	case c.In(control.Nodes):
		room = c.Is != nil
	case c.In(calls.Claims), c.In(calls.Volumes), c.In(calls.Classes):
		room = true
	case c.In(control.Pods):
		p := control.Get[corev1.Pod](v, c.Key)
		before, was := s.pods[c.Key]
		delete(s.pods, c.Key)
		delete(s.pending, c.Key)
		if was {
			s.used[before.node].add(before.usage, -1)
			room = true
		}
		switch {
		case p == nil:
		case p.Spec.NodeName == "":
			add(c.Key)
		case !pod.Ended(p):
			s.take(c.Key, p.Spec.NodeName, usageOf(p))
			room = room && before.node != p.Spec.NodeName
		}
	}
	if room {
		for _, key := range slices.Sorted(maps.Keys(s.pending)) {
			add(key)
		}
	}
}

// take adds a Pod to the usage of a Node.
func (s *scheduler) take(key, node string, u usage) {
	if s.used[node] == nil {
		s.used[node] = &usage{}
	}
	s.used[node].add(u, 1)
	s.pods[key] = placed{node, u}
}

// place binds a Pod, or sets a condition that says why no Node fits.
func (s *scheduler) place(now time.Time, v *control.State, key string) (r control.Result) {
	p := control.Get[corev1.Pod](v, key)
	if p == nil || p.Spec.NodeName != "" || p.DeletionTimestamp != nil || pod.Ended(p) || len(p.Spec.SchedulingGates) > 0 || p.Spec.SchedulerName != corev1.DefaultSchedulerName {
		return r
	}
	if before, ok := s.pods[key]; ok { // a binding that failed
		s.used[before.node].add(before.usage, -1)
		delete(s.pods, key)
	}
	u := usageOf(p)
	var best *corev1.Node
	fewest := int64(0)
	reasons, nodes, helpless := map[string]int{}, 0, 0
	needs, problem := volumes.NeedsOf(v, p)
	for _, n := range control.List[corev1.Node](v, control.Nodes, "") {
		nodes++
		if problem != "" {
			helpless++
			continue
		}
		used := s.used[n.Name]
		if used == nil {
			used = &usage{}
		}
		why, resolvable := misfit(p, n, u, used)
		if len(why) == 0 {
			why, resolvable = needs.Misfit(n), false
		}
		if len(why) == 0 {
			if best == nil || used.pods < fewest {
				best, fewest = n, used.pods
			}
			continue
		}
		for _, text := range why {
			reasons[text]++
		}
		if !resolvable {
			helpless++
		}
	}
	if best != nil {
		s.take(key, best.Name, u)
		reserved := &calls.Calls{User: user}
		if !needs.Reserve(reserved, best) {
			s.pending[key] = true
			if p.Status.NominatedNodeName != best.Name {
				r.Requests = append(r.Requests, user.Merge(control.Pods, p.Namespace, p.Name, "status", map[string]any{"status": map[string]any{"nominatedNodeName": best.Name}}))
			}
			r.Requests = append(r.Requests, reserved.List...)
			return r
		}
		delete(s.pending, key)
		r.Requests = append(r.Requests, user.CreateSub(control.Pods, p.Namespace, p.Name, "binding", &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: best.Name}}))
		return r
	}
	s.pending[key] = true
	why := message(nodes, helpless, problem, reasons)
	if req := unschedulable(now, p, why); req.Method != "" {
		r.Requests = append(r.Requests, req)
		r.Events = append(r.Events, control.Event{User: user, Key: key, Warning: true, Reason: "FailedScheduling", Message: why, Action: "Scheduling"})
	}
	return r
}

// message returns why no Node fits, in the words of the real scheduler. The problem of a Pod itself is told in place of
// reasons.
func message(nodes, helpless int, problem string, reasons map[string]int) string {
	switch {
	case nodes == 0:
		return "no nodes available to schedule pods"
	case problem != "":
		return fmt.Sprintf("0/%d nodes are available: %s. not found", nodes, problem)
	}
	texts := func(m map[string]int) string {
		var out []string
		for reason, n := range m {
			if n > 0 {
				out = append(out, fmt.Sprintf("%d %s", n, reason))
			}
		}
		slices.Sort(out)
		return strings.Join(out, ", ")
	}
	return fmt.Sprintf("0/%d nodes are available: %s. no new claims to deallocate, preemption: 0/%d nodes are available: %s.", nodes, texts(reasons), nodes,
		texts(map[string]int{"Preemption is not helpful for scheduling": helpless, "No preemption victims found for incoming pod": nodes - helpless}))
}

// unschedulable returns the request that sets the condition Unschedulable; the zero value if the Pod has it already.
func unschedulable(now time.Time, p *corev1.Pod, message string) core.Request {
	want := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message,
		ObservedGeneration: p.Generation, LastTransitionTime: metav1.NewTime(now)}
	p = p.DeepCopy()
	if have := pod.Condition(p, corev1.PodScheduled); have == nil {
		p.Status.Conditions = append(p.Status.Conditions, want)
	} else {
		if have.Status == want.Status {
			want.LastTransitionTime = have.LastTransitionTime
		}
		if have.Status == want.Status && have.Reason == want.Reason && have.Message == want.Message && have.ObservedGeneration == want.ObservedGeneration {
			return core.Request{}
		}
		*have = want
	}
	return user.UpdateStatus(control.Pods, p)
}
