package kubelet

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control/pod"
)

// advance moves the status of a Pod to the present time. It returns when the next step is due; zero if none is.
func advance(now time.Time, p *corev1.Pod, s Script) time.Time {
	switch {
	case pod.Ended(p):
		return time.Time{}
	case s.Missing:
		pull(now, p)
		return time.Time{}
	case p.Status.Phase != corev1.PodRunning:
		bound := p.CreationTimestamp
		if c := pod.Condition(p, corev1.PodScheduled); c != nil && !c.LastTransitionTime.IsZero() {
			bound = c.LastTransitionTime
		}
		if at := bound.Add(s.Start); at.After(now) {
			wait(now, p, "ContainerCreating", "")
			return at
		}
		run(now, p, s)
		if s.Exit == 0 || s.Ready > 0 || s.Exit > 0 {
			return now // of the next step
		}
		return time.Time{}
	}
	return live(now, p, s)
}

// live takes the next step of a running Pod: its containers become ready, end, or start again.
func live(now time.Time, p *corev1.Pod, s Script) (due time.Time) {
	if len(p.Status.ContainerStatuses) == 0 {
		return time.Time{} // somebody else has written the status
	}
	first := &p.Status.ContainerStatuses[0] // all containers have the same state
	earliest := func(at time.Time) {
		if due.IsZero() || at.Before(due) {
			due = at
		}
	}
	if w := first.State.Waiting; w != nil && first.LastTerminationState.Terminated != nil {
		at := first.LastTerminationState.Terminated.FinishedAt.Add(crashDelay(first.RestartCount))
		if at.After(now) {
			return at
		}
		restart(now, p, s)
		first = &p.Status.ContainerStatuses[0]
	}
	if first.State.Running == nil {
		return time.Time{}
	}
	began := first.State.Running.StartedAt
	if s.Exit != never {
		if at := began.Add(s.Exit); at.After(now) {
			earliest(at)
		} else {
			end(now, p, s)
			if p.Status.Phase == corev1.PodRunning {
				return now
			}
			return time.Time{}
		}
	}
	if !first.Ready && s.Ready != never {
		if at := began.Add(s.Ready); at.After(now) {
			earliest(at)
		} else {
			ready(now, p, true)
		}
	}
	return due
}

// wait sets the status of a Pod whose containers do not run yet.
func wait(now time.Time, p *corev1.Pod, reason, message string) {
	p.Status.Phase = corev1.PodPending
	if p.Status.StartTime == nil {
		p.Status.StartTime = seconds(now)
	}
	p.Status.ContainerStatuses = nil
	for _, c := range p.Spec.Containers {
		started := false
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image, Started: &started,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: strings.ReplaceAll(message, "IMAGE", c.Image)}}})
	}
	set(now, p, corev1.PodInitialized, true, "", "")
	unready(now, p, "ContainersNotReady", "containers with unready status: "+names(p))
}

// pull sets the status of a Pod whose images are missing.
func pull(now time.Time, p *corev1.Pod) {
	wait(now, p, "ImagePullBackOff", `Back-off pulling image "IMAGE"`)
}

func names(p *corev1.Pod) string {
	var out []string
	for _, c := range p.Spec.Containers {
		out = append(out, c.Name)
	}
	return fmt.Sprint(out)
}

// run sets the status of a Pod whose containers have just started. Readiness gates hold then, unless the Pod has an
// annotation of [Script]: their conditions are left to the test.
func run(now time.Time, p *corev1.Pod, s Script) {
	st := &p.Status
	st.Phase = corev1.PodRunning
	if st.StartTime == nil {
		st.StartTime = seconds(now)
	}
	st.ContainerStatuses, st.InitContainerStatuses = nil, nil
	for _, c := range p.Spec.InitContainers {
		one := corev1.ContainerStatus{Name: c.Name, Image: c.Image, Ready: true}
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			started := true
			one.Started, one.State = &started, running(now)
		} else {
			one.State.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: *seconds(now), FinishedAt: *seconds(now)}
		}
		st.InitContainerStatuses = append(st.InitContainerStatuses, one)
	}
	for _, c := range p.Spec.Containers {
		st.ContainerStatuses = append(st.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image, State: running(now)})
	}
	set(now, p, corev1.PodInitialized, true, "", "")
	ready(now, p, s.Ready == 0)
	for _, g := range p.Spec.ReadinessGates {
		if s.plain {
			set(now, p, g.ConditionType, true, "", "")
		}
	}
}

func running(now time.Time) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: *seconds(now)}}
}

// ready sets whether the containers and the Pod are ready.
func ready(now time.Time, p *corev1.Pod, yes bool) {
	for i := range p.Status.ContainerStatuses {
		p.Status.ContainerStatuses[i].Ready = yes
	}
	if !yes {
		unready(now, p, "ContainersNotReady", "containers with unready status: "+names(p))
		return
	}
	set(now, p, corev1.ContainersReady, true, "", "")
	set(now, p, corev1.PodReady, true, "", "")
}

func unready(now time.Time, p *corev1.Pod, reason, message string) {
	set(now, p, corev1.PodReady, false, reason, message)
	set(now, p, corev1.ContainersReady, false, reason, message)
}

// end sets the status of a Pod whose containers have ended: for good, or until they are started again.
func end(now time.Time, p *corev1.Pod, s Script) {
	again := p.Spec.RestartPolicy == corev1.RestartPolicyAlways || p.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && s.Code != 0
	reason := "Completed"
	if s.Code != 0 {
		reason = "Error"
	}
	for i := range p.Status.ContainerStatuses {
		c := &p.Status.ContainerStatuses[i]
		began := *seconds(now)
		if c.State.Running != nil {
			began = c.State.Running.StartedAt
		}
		ended := &corev1.ContainerStateTerminated{ExitCode: s.Code, Reason: reason, StartedAt: began, FinishedAt: *seconds(now)}
		started := false
		c.Ready, c.Started = false, &started
		if !again {
			c.State = corev1.ContainerState{Terminated: ended}
			continue
		}
		c.LastTerminationState = corev1.ContainerState{Terminated: ended}
		c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff",
			Message: fmt.Sprintf("back-off %v restarting failed container=%s pod=%s_%s(%s)", crashDelay(c.RestartCount), c.Name, p.Name, p.Namespace, p.UID)}}
	}
	switch {
	case again:
		unready(now, p, "ContainersNotReady", "containers with unready status: "+names(p))
		return
	case s.Code != 0:
		p.Status.Phase = corev1.PodFailed
		unready(now, p, "PodFailed", "")
	default:
		p.Status.Phase = corev1.PodSucceeded
		if !s.plain {
			unready(now, p, "PodCompleted", "")
		}
	}
}

// restart sets the status of a Pod whose containers are started again.
func restart(now time.Time, p *corev1.Pod, s Script) {
	for i := range p.Status.ContainerStatuses {
		c := &p.Status.ContainerStatuses[i]
		c.RestartCount++
		c.State, c.Started = running(now), nil
	}
	ready(now, p, s.Ready == 0)
}

// set sets a condition of a Pod. The time of the condition changes only with its status.
func set(now time.Time, p *corev1.Pod, kind corev1.PodConditionType, yes bool, reason, message string) {
	c := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: *seconds(now)}
	if yes {
		c.Status = corev1.ConditionTrue
	}
	have := pod.Condition(p, kind)
	switch {
	case have == nil:
		p.Status.Conditions = append(p.Status.Conditions, c)
	case have.Status == c.Status:
		c.LastTransitionTime = have.LastTransitionTime
		fallthrough
	default:
		*have = c
	}
}

// seconds returns a time in whole seconds, as objects have it.
func seconds(t time.Time) *metav1.Time {
	s := metav1.NewTime(t.UTC().Truncate(time.Second))
	return &s
}
