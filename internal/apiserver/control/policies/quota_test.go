package policies

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control/controltest"
)

func TestPodUsage(t *testing.T) {
	p := controltest.Parse[corev1.Pod](t, `{"spec":{
		"containers":[{"resources":{"requests":{"cpu":"100m","memory":"1Gi"},"limits":{"cpu":"1"}}},{"resources":{"requests":{"cpu":"200m","example.com/gpu":"2"}}}],
		"initContainers":[{"resources":{"requests":{"cpu":"250m","memory":"3Gi"}}},{"restartPolicy":"Always","resources":{"requests":{"cpu":"50m"}}},{"resources":{"requests":{"cpu":"320m"}}}],
		"overhead":{"cpu":"1m"}}}`)
	for name, want := range map[corev1.ResourceName]string{
		"pods": "1", "cpu": "371m", "requests.cpu": "371m", "requests.memory": "3Gi", "limits.cpu": "1001m", "limits.memory": "0", "requests.example.com/gpu": "2",
	} {
		if got := podUsage(p, name); got.String() != want {
			t.Errorf("%s: %s, want %s", name, got.String(), want)
		}
	}
	p.Spec.Resources = controltest.Parse[corev1.ResourceRequirements](t, `{"requests":{"cpu":"2"}}`)
	if got := podUsage(p, "cpu"); got.String() != "2001m" {
		t.Errorf("of the pod: %s", got.String())
	}
}

func TestScopes(t *testing.T) {
	p := controltest.Parse[corev1.Pod](t, `{"spec":{"priorityClassName":"high","activeDeadlineSeconds":1},"status":{"qosClass":"BestEffort"}}`)
	for spec, want := range map[string]bool{
		`{}`: true, `{"scopes":["Terminating","BestEffort"]}`: true, `{"scopes":["NotTerminating"]}`: false, `{"scopes":["NotBestEffort"]}`: false,
		`{"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In","values":["high"]}]}}`:    true,
		`{"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"NotIn","values":["high"]}]}}`: false,
		`{"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"DoesNotExist"}]}}`:            false,
		`{"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"Exists"}]}}`:                  true,
	} {
		if got := inScope(&corev1.ResourceQuota{Spec: *controltest.Parse[corev1.ResourceQuotaSpec](t, spec)}, p); got != want {
			t.Errorf("%s: %t", spec, got)
		}
	}
}

// A pod that has ended, or that should be long gone, takes nothing.
func TestCounts(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC)
	for text, want := range map[string]bool{
		`{"status":{"phase":"Running"}}`: true, `{"status":{"phase":"Failed"}}`: false,
		`{"metadata":{"deletionTimestamp":"2026-01-01T00:00:40Z","deletionGracePeriodSeconds":30}}`: true,
		`{"metadata":{"deletionTimestamp":"2026-01-01T00:00:10Z","deletionGracePeriodSeconds":30}}`: false,
	} {
		if got := counts(now, controltest.Parse[corev1.Pod](t, text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

func TestPorts(t *testing.T) {
	for text, want := range map[string][2]int64{
		`{"spec":{"type":"ClusterIP","ports":[{"port":1}]}}`: {0, 0}, `{"spec":{"type":"NodePort","ports":[{"port":1},{"port":2}]}}`: {2, 0}, `{"spec":{"type":"LoadBalancer","ports":[{"port":1}]}}`: {1, 1},
		`{"spec":{"type":"LoadBalancer","allocateLoadBalancerNodePorts":false,"ports":[{"port":1},{"port":2,"nodePort":3}]}}`: {1, 1},
	} {
		s := controltest.Parse[corev1.Service](t, text)
		if got := [2]int64{ports(s, corev1.ResourceServicesNodePorts), ports(s, corev1.ResourceServicesLoadBalancers)}; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
