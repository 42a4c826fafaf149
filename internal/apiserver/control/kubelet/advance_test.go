package kubelet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control/pod"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// bound is a Pod that is bound to a node now.
func bound(policy corev1.RestartPolicy, annotations ...string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{}},
		Spec:       corev1.PodSpec{RestartPolicy: policy, NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start)}}},
	}
	for _, a := range annotations {
		name, value, _ := strings.Cut(a, "=")
		p.Annotations[name] = value
	}
	return p
}

// state is what kubectl shows of a Pod: its phase, whether it is ready, and the state of its container.
func state(p *corev1.Pod) string {
	out := string(p.Status.Phase)
	if pod.Ready(p) {
		out += " ready"
	}
	for _, c := range p.Status.ContainerStatuses {
		switch s := c.State; {
		case s.Waiting != nil:
			out += " " + s.Waiting.Reason
		case s.Terminated != nil:
			out += fmt.Sprintf(" %s(%d)", s.Terminated.Reason, s.Terminated.ExitCode)
		}
		if c.RestartCount > 0 {
			out += fmt.Sprintf(" restarts=%d", c.RestartCount)
		}
	}
	return out
}

// Each script, lived through from due time to due time.
func TestAdvance(t *testing.T) {
	job := func(p *corev1.Pod) *corev1.Pod {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job"}}
		return p
	}
	for _, c := range []struct {
		name string
		pod  *corev1.Pod
		want string
	}{
		{"plain", bound("Always"), "0s Running ready"},
		{"a job's", job(bound("Never")), "0s Running ready; 0s Succeeded ready Completed(0)"},
		{"slow", bound("Always", StartAfter+"=3s", ReadyAfter+"=5s"), "0s Pending ContainerCreating; 3s Running; 8s Running ready"},
		{"never ready", bound("Always", ReadyAfter+"=never"), "0s Running"},
		{"no image", bound("Always", Image+"=missing"), "0s Pending ImagePullBackOff"},
		{"ends", bound("Never", ExitAfter+"=2s"), "0s Running ready; 2s Succeeded Completed(0)"},
		{"fails", bound("Never", ExitAfter+"=2s", ExitCode+"=3"), "0s Running ready; 2s Failed Error(3)"},
		{"a job's that fails later", job(bound("Never", ExitAfter+"=1m", ExitCode+"=1")), "0s Running ready; 1m0s Failed Error(1)"},
		{"a job's that goes on", job(bound("Never", ExitAfter+"=never")), "0s Running ready"},
		{"starts again", bound("OnFailure", ExitAfter+"=1s", ExitCode+"=1"), "0s Running ready; 1s Running CrashLoopBackOff; 1s Running ready restarts=1; 2s Running CrashLoopBackOff restarts=1; " +
			"12s Running ready restarts=2; 13s Running CrashLoopBackOff restarts=2; 33s Running ready restarts=3; 34s Running CrashLoopBackOff restarts=3"},
		{"does not start again", bound("OnFailure", ExitAfter+"=1s"), "0s Running ready; 1s Succeeded Completed(0)"},
		{"nonsense", bound("Always", ExitAfter+"=soon", ReadyAfter+"=-1s", ExitCode+"=x"), "0s Running ready"},
	} {
		var got []string
		now, p := start, c.pod
		for range 20 {
			due := advance(now, p, scriptOf(p))
			if text := fmt.Sprintf("%v %s", now.Sub(start), state(p)); len(got) == 0 || got[len(got)-1] != text {
				got = append(got, text)
			}
			if due.IsZero() || len(got) == 8 {
				break
			}
			now = due
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, text, c.want)
		}
		before := p.DeepCopy()
		if due := advance(now, p, scriptOf(p)); state(p) != state(before) && due.IsZero() {
			t.Errorf("%s: no end", c.name)
		}
	}
}

func TestCrashDelay(t *testing.T) {
	for n, want := range map[int32]time.Duration{0: 0, 1: 10 * time.Second, 2: 20 * time.Second, 5: 160 * time.Second, 6: 5 * time.Minute, 1000: 5 * time.Minute} {
		if got := crashDelay(n); got != want {
			t.Errorf("%d: %v, want %v", n, got, want)
		}
	}
}

// A Pod that is deleted stops at once, or as its script says, within its grace.
func TestStopped(t *testing.T) {
	grace := int64(30)
	for stop, want := range map[string]time.Duration{"": 0, "5s": 5 * time.Second, "1h": 30 * time.Second, "never": 0} {
		p := bound("Always", StopAfter+"="+stop)
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: start.Add(30 * time.Second)}, &grace
		if got := stopped(p, scriptOf(p)).Sub(start); got != want {
			t.Errorf("%q: after %v, want %v", stop, got, want)
		}
	}
}

// Addresses are of their uid, unique, and free again.
func TestAddresses(t *testing.T) {
	a, seen := newAddresses(), map[string]bool{}
	node := &corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.1.1.1"}}}}
	give := func(uid string) *corev1.Pod {
		p := bound("Always")
		p.UID = "same" // all want the same address
		a.give(uid, p, node)
		if p.Status.HostIP != "10.1.1.1" || len(p.Status.PodIPs) != 1 {
			t.Errorf("%+v", p.Status)
		}
		return p
	}
	var first *corev1.Pod
	for i := range 1000 {
		p := give(fmt.Sprint(i))
		if first == nil {
			first = p
		}
		if seen[p.Status.PodIP] {
			t.Fatalf("two Pods have %s", p.Status.PodIP)
		}
		seen[p.Status.PodIP] = true
	}
	a.observe("0", nil)
	if p := give("again"); p.Status.PodIP != first.Status.PodIP {
		t.Errorf("got %s, want %s, which is free", p.Status.PodIP, first.Status.PodIP)
	}
	host := bound("Always")
	host.Spec.HostNetwork = true
	a.give("host", host, &corev1.Node{})
	if host.Status.PodIP != nodeAddress {
		t.Errorf("%s", host.Status.PodIP)
	}
}
