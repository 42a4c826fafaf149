package pod

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func running(name string, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))},
		Spec:       corev1.PodSpec{NodeName: "n"},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))}}},
	}
	if change != nil {
		change(p)
	}
	return p
}

// Each Pod is given up before the one that follows.
func TestSortForDeletion(t *testing.T) {
	pods := []*corev1.Pod{
		running("plain", nil),
		running("dear", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.PodDeletionCost: "10"} }),
		running("cheap", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.PodDeletionCost: "-10"} }),
		running("young", func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(now.Add(-time.Minute)) }),
		running("restarted", func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 3}} }),
		running("just ready", func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now) }),
		running("crowded", func(p *corev1.Pod) { p.Spec.NodeName = "m" }),
		running("unready", func(p *corev1.Pod) { p.Status.Conditions = nil }),
		running("pending", func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }),
		running("unbound", func(p *corev1.Pod) { p.Spec.NodeName = "" }),
	}
	SortForDeletion(pods, map[string]int{"n": 1, "m": 2}, now)
	var got []string
	for _, p := range pods {
		got = append(got, p.Name)
	}
	if text, want := strings.Join(got, ", "), "unbound, pending, unready, cheap, crowded, just ready, restarted, young, plain, dear"; text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

func TestAvailable(t *testing.T) {
	p := running("a", func(p *corev1.Pod) {
		p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-10 * time.Second))
	})
	for seconds, want := range map[int32]string{0: "true 0s", 10: "true 0s", 15: "false 5s"} {
		ok, then := Available(p, seconds, now)
		wait := time.Duration(0)
		if !then.IsZero() {
			wait = then.Sub(now)
		}
		if got := fmt.Sprint(ok, wait); got != want {
			t.Errorf("%d s: %s, want %s", seconds, got, want)
		}
	}
	p.Status.Conditions = nil
	if ok, then := Available(p, 0, now); ok || !then.IsZero() {
		t.Error("a Pod that is not ready is available")
	}
}

func TestPrefix(t *testing.T) {
	long := strings.Repeat("a", 252)
	for owner, want := range map[string]string{"web": "web-", long: long} {
		if got := Prefix(owner); got != want {
			t.Errorf("%s: %s", owner, got)
		}
	}
}
