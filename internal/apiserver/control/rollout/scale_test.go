package rollout

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// set is a ReplicaSet of a size with available Pods. The Deployment had some size when it got its own.
func set(name string, size, available, desired, most int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{desiredKey: strconv.Itoa(int(desired)), maxKey: strconv.Itoa(int(most))}},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &size},
		Status:     appsv1.ReplicaSetStatus{AvailableReplicas: available, Replicas: size},
	}
}

// of is a rollout of a Deployment. The last of the ReplicaSets is the new one.
func of(replicas int32, surge, unavailable string, sets ...*appsv1.ReplicaSet) *rollout {
	s, u := intstr.Parse(surge), intstr.Parse(unavailable)
	d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &replicas, Strategy: appsv1.DeploymentStrategy{
		Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &s, MaxUnavailable: &u}}}}
	n := len(sets) - 1
	return &rollout{now: now, was: d.DeepCopy(), d: d, sets: sets, new: sets[n], old: sets[:n], changed: map[*appsv1.ReplicaSet]bool{}}
}

func sizes(w *rollout) string {
	var out []int32
	for _, rs := range w.sets {
		out = append(out, *rs.Spec.Replicas)
	}
	return fmt.Sprint(out)
}

func TestBounds(t *testing.T) {
	for _, c := range []struct {
		replicas           int32
		surge, unavailable string
		want               string
	}{
		{10, "25%", "25%", "3 2"},
		{1, "25%", "25%", "1 0"},
		{4, "0", "0", "0 1"},
		{4, "0", "1%", "0 1"},
		{3, "2", "100%", "2 3"},
		{2, "0", "5", "0 5"},
	} {
		s, u := bounds(of(c.replicas, c.surge, c.unavailable, set("new", 0, 0, 0, 0)).d)
		if got := fmt.Sprint(s, u); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	if n := maxUnavailable(of(2, "0", "5", set("new", 0, 0, 0, 0)).d); n != 2 {
		t.Errorf("%d of 2 may be unavailable", n)
	}
}

// A rolling update grows the new ReplicaSet and shrinks the old ones, within its bounds.
func TestRoll(t *testing.T) {
	for _, c := range []struct {
		name string
		w    *rollout
		want string
	}{
		{"surge", of(10, "3", "2", set("old", 10, 10, 10, 13), set("new", 0, 0, 10, 13)), "[10 3]"},
		{"shrink", of(10, "3", "2", set("old", 10, 10, 10, 13), set("new", 3, 0, 10, 13)), "[8 3]"},
		{"wait", of(10, "3", "2", set("old", 8, 8, 10, 13), set("new", 5, 0, 10, 13)), "[8 5]"},
		{"go on", of(10, "3", "2", set("old", 8, 8, 10, 13), set("new", 5, 4, 10, 13)), "[4 5]"},
		{"unhealthy ones first", of(10, "3", "2", set("bad", 3, 1, 10, 13), set("old", 7, 7, 10, 13), set("new", 3, 0, 10, 13)), "[1 7 3]"},
		{"the end", of(10, "3", "2", set("old", 2, 2, 10, 13), set("new", 10, 10, 10, 13)), "[0 10]"},
		{"too many", of(3, "1", "0", set("new", 5, 5, 3, 4)), "[3]"},
		{"one after the other", of(2, "0", "1", set("old", 2, 2, 2, 2), set("new", 0, 0, 2, 2)), "[1 0]"},
	} {
		if !c.w.scaleNew() {
			c.w.scaleOld()
		}
		if got := sizes(c.w); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A Deployment whose size changes amid a rollout gives each ReplicaSet its part.
func TestScaleAll(t *testing.T) {
	for _, c := range []struct {
		name string
		w    *rollout
		want string
	}{
		{"one", of(5, "25%", "25%", set("new", 3, 3, 3, 4)), "[5]"},
		{"none has Pods", of(5, "25%", "25%", set("old", 0, 0, 3, 4), set("new", 0, 0, 3, 4)), "[0 5]"},
		{"parts", of(20, "50%", "0", set("old", 10, 10, 10, 15), set("new", 5, 0, 10, 15)), "[20 10]"},
		{"what rounding leaves", of(20, "10", "0", set("old", 10, 10, 10, 20), set("new", 5, 0, 10, 20)), "[22 8]"},
		{"less", of(5, "5", "0", set("old", 10, 10, 10, 15), set("new", 5, 0, 10, 15)), "[7 3]"},
		{"to nothing", of(0, "1", "1", set("old", 3, 3, 4, 5), set("new", 2, 1, 4, 5)), "[0 0]"},
		{"the new one is complete", of(4, "1", "1", set("old", 2, 2, 4, 5), set("new", 4, 4, 4, 5)), "[0 4]"},
		{"nobody knows the size before", of(8, "0", "1", set("old", 2, 2, 4, 0), set("new", 2, 2, 4, 0)), "[4 4]"},
	} {
		c.w.d.Status.Replicas = 4
		c.w.scaleAll()
		if got := sizes(c.w); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A rollout that makes no progress until its deadline is said to be stuck, and comes back for that.
func TestDeadline(t *testing.T) {
	w := of(2, "1", "0", set("old", 2, 2, 2, 3), set("new", 1, 0, 2, 3))
	deadline := int32(60)
	w.d.Spec.ProgressDeadlineSeconds = &deadline
	step := func(after time.Duration, status corev1.ConditionStatus, reason string, again time.Duration) {
		t.Helper()
		w.now, w.again, w.was = now.Add(after), time.Time{}, w.d.DeepCopy()
		w.progress()
		c := w.condition(appsv1.DeploymentProgressing)
		if c == nil || c.Status != status || c.Reason != reason {
			t.Fatalf("after %v: %+v, want %s %s", after, c, status, reason)
		}
		if got := w.again; got.IsZero() != (again == 0) || again != 0 && !got.Equal(now.Add(again)) {
			t.Errorf("after %v: again at %v, want %v", after, got.Sub(now), again)
		}
	}
	step(0, corev1.ConditionTrue, "ReplicaSetUpdated", 61*time.Second)
	step(30*time.Second, corev1.ConditionTrue, "ReplicaSetUpdated", 61*time.Second)
	w.new.Status.ReadyReplicas = 1
	step(50*time.Second, corev1.ConditionTrue, "ReplicaSetUpdated", 111*time.Second)
	step(111*time.Second, corev1.ConditionFalse, reasonTimedOut, 0)
	w.sets, w.old = w.sets[1:], nil
	*w.new.Spec.Replicas, w.new.Status.Replicas, w.new.Status.AvailableReplicas = 2, 2, 2
	step(120*time.Second, corev1.ConditionTrue, reasonAvailable, 0)
}

// A ReplicaSet that is rolled back to keeps its old numbers as its history, within bounds.
func TestAnnotate(t *testing.T) {
	w := of(1, "1", "0", set("new", 1, 1, 1, 2))
	w.d.Annotations = map[string]string{"a": "b", revisionKey: "7", corev1.LastAppliedConfigAnnotation: "x"}
	rs := w.new
	for _, next := range []string{"1", "4", "9"} {
		if !w.annotate(rs, next) {
			t.Errorf("%s changes nothing", next)
		}
	}
	if w.annotate(rs, "8") {
		t.Error("a number that is too low changes something")
	}
	if a := rs.Annotations; a[revisionKey] != "9" || a[historyKey] != "1,4" || a["a"] != "b" || a[corev1.LastAppliedConfigAnnotation] != "" {
		t.Errorf("%v", a)
	}
	for n := range 1000 {
		w.annotate(rs, strconv.Itoa(n+10))
	}
	if h := rs.Annotations[historyKey]; len(h) > maxHistory || len(h) < maxHistory-10 || h[len(h)-5:] != ",1008" {
		t.Errorf("%d characters: %s", len(h), h)
	}
}
