package scale

import (
	"errors"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/apiserver/control/controltest"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestBudget(t *testing.T) {
	var pods []*corev1.Pod
	for _, name := range []string{"a", "b", "c", "d"} {
		p := controltest.Parse[corev1.Pod](t, `{"metadata":{"ownerReferences":[{"kind":"ReplicaSet","name":"r","uid":"r","controller":true}]},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
		p.Name = name
		pods = append(pods, p)
	}
	pods[3].Status.Conditions[0].Status = corev1.ConditionFalse
	scale := func(*corev1.Pod) (types.UID, int32, error) { return "r", 10, nil }
	for _, c := range []struct {
		spec                                string
		pods                                []*corev1.Pod
		expected, desired, healthy, allowed int32
	}{
		{`{"minAvailable":2}`, pods, 4, 2, 3, 1},
		{`{"minAvailable":3}`, pods, 4, 3, 3, 0},
		{`{"minAvailable":0}`, nil, 0, 0, 0, 0},
		{`{"minAvailable":"15%"}`, pods, 10, 2, 3, 1},
		{`{"maxUnavailable":8}`, pods, 10, 2, 3, 1},
		{`{"maxUnavailable":"5%"}`, pods, 10, 9, 3, 0},
		{`{}`, pods, 0, 0, 3, 0},
	} {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Generation: 7}, Spec: *controltest.Parse[policyv1.PodDisruptionBudgetSpec](t, c.spec)}
		next, due := judge(start, b, c.pods, scale)
		s := next.Status
		if s.ExpectedPods != c.expected || s.DesiredHealthy != c.desired || s.CurrentHealthy != c.healthy || s.DisruptionsAllowed != c.allowed || s.ObservedGeneration != 7 || !due.IsZero() {
			t.Errorf("%s: %+v", c.spec, s)
		}
		reason := policyv1.InsufficientPodsReason
		if c.allowed > 0 {
			reason = policyv1.SufficientPodsReason
		}
		if s.Conditions[0].Reason != reason {
			t.Errorf("%s: %+v", c.spec, s.Conditions)
		}
		if again, _ := judge(start.Add(time.Hour), next, c.pods, scale); again != nil {
			t.Errorf("%s: it is written again: %+v", c.spec, again.Status)
		}
	}

	b := &policyv1.PodDisruptionBudget{Spec: *controltest.Parse[policyv1.PodDisruptionBudgetSpec](t, `{"minAvailable":1}`)}
	b.Status.DisruptedPods = map[string]metav1.Time{"a": metav1.NewTime(start), "gone": metav1.NewTime(start)}
	next, due := judge(start, b, pods, scale)
	if next.Status.CurrentHealthy != 2 || len(next.Status.DisruptedPods) != 1 || due.Sub(start) <= deletionTimeout {
		t.Errorf("%+v, due at %v", next.Status, due)
	}
	if next, due = judge(due, next, pods, scale); next.Status.CurrentHealthy != 3 || len(next.Status.DisruptedPods) != 0 || !due.IsZero() {
		t.Errorf("%+v, due at %v", next.Status, due)
	}
	b = &policyv1.PodDisruptionBudget{Spec: *controltest.Parse[policyv1.PodDisruptionBudgetSpec](t, `{"maxUnavailable":1}`)}
	b.Status.DisruptionsAllowed = 1
	next, _ = judge(start, b, pods, func(*corev1.Pod) (types.UID, int32, error) { return "", 0, errors.New("none") })
	if s := next.Status; s.DisruptionsAllowed != 0 || s.Conditions[0].Reason != policyv1.SyncFailedReason || s.Conditions[0].Message != "none" {
		t.Errorf("%+v", s)
	}
}

// Each kind of metric lacks something else.
func TestLacking(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"Resource","resource":{"name":"cpu","target":{"averageUtilization":50}}}`: "FailedGetResourceMetric: failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)",
		`{"type":"Resource","resource":{"name":"cpu","target":{"averageValue":"1"}}}`:      "FailedGetResourceMetric: failed to get cpu usage: unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)",
		`{"type":"Pods","pods":{"metric":{"name":"m"}}}`:                                   "FailedGetPodsMetric: unable to get metric m: unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered",
	} {
		reason, message := lacking(*controltest.Parse[autoscalingv2.MetricSpec](t, text), "ns")
		if got := reason + ": " + message; got != want {
			t.Errorf("%s:\n%s\nwant\n%s", text, got, want)
		}
	}
}
