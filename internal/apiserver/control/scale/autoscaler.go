package scale

import (
	"fmt"
	"net/http"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// resync is how often each autoscaler looks at its target.
const resync = 15 * time.Second

// Autoscalers returns the controller of horizontal pod autoscalers. There are no metrics: it only keeps targets within
// their bounds, and says in conditions which metrics it lacks.
func Autoscalers(control.Options) control.Controller {
	user := control.ServiceAccount("horizontal-pod-autoscaler")
	return &control.Keyed{Title: "horizontal-pod-autoscaler-controller", Map: func(_ *control.State, c control.Change, add func(string)) {
		if c.In(calls.Autoscalers) {
			add(c.Key)
		}
	}, Reconcile: func(now time.Time, s *control.State, key string) (r control.Result) {
		old := control.Get[autoscalingv2.HorizontalPodAutoscaler](s, key)
		if old == nil {
			return r
		}
		h := &autoscaler{HorizontalPodAutoscaler: old.DeepCopy(), now: now, Calls: &calls.Calls{User: user}}
		h.List = h.sync(s, user)
		if !equality.Semantic.DeepEqual(old.Status, h.Status) {
			h.UpdateStatus(h.HorizontalPodAutoscaler)
		}
		r.Requests, r.Events, r.At = h.List, h.Events, now.Add(resync)
		return r
	}}
}

type autoscaler struct {
	*autoscalingv2.HorizontalPodAutoscaler
	*calls.Calls
	now time.Time
}

// sync sets the status. It returns a request if the target is to be scaled.
func (h *autoscaler) sync(s *control.State, u control.User) []core.Request {
	t := h.Spec.ScaleTargetRef
	scale, kind, err := scaleOf(h.now, s, u, t.APIVersion, t.Kind, h.Namespace, t.Name)
	if err != nil {
		h.Warn(h.HorizontalPodAutoscaler, "FailedGetScale", err.Error())
		h.set(autoscalingv2.AbleToScale, corev1.ConditionFalse, "FailedGetScale", fmt.Sprintf("the HPA controller was unable to get the target's current scale: %v", err))
		return nil
	}
	h.set(autoscalingv2.AbleToScale, corev1.ConditionTrue, "SucceededGetScale", "the HPA controller was able to get the target's current scale")
	least := int32(1)
	if h.Spec.MinReplicas != nil {
		least = *h.Spec.MinReplicas
	}
	current := scale.Spec.Replicas
	desired := max(least, min(current, h.Spec.MaxReplicas))
	st := &h.Status
	st.CurrentReplicas, st.CurrentMetrics = current, nil
	switch {
	case current == 0:
		st.DesiredReplicas = 0
		h.set(autoscalingv2.ScalingActive, corev1.ConditionFalse, "ScalingDisabled", "scaling is disabled since the replica count of the target is zero")
	case desired != current:
		scale.Spec.Replicas, st.DesiredReplicas, st.LastScaleTime = desired, desired, &metav1.Time{Time: h.now}
		why := "Current number of replicas below Spec.MinReplicas"
		if desired < current {
			why = "Current number of replicas above Spec.MaxReplicas"
		}
		h.Tell(h.HorizontalPodAutoscaler, "SuccessfulRescale", fmt.Sprintf("New size: %d; reason: %s", desired, why))
		h.set(autoscalingv2.AbleToScale, corev1.ConditionTrue, "SucceededRescale", fmt.Sprintf("the HPA controller was able to update the target scale to %d", desired))
		return []core.Request{u.Do(http.MethodPut, kind.Path(h.Namespace, t.Name, "scale"), "application/json", scale)}
	case scale.Status.Selector == "":
		h.Warn(h.HorizontalPodAutoscaler, "SelectorRequired", "selector is required")
		h.set(autoscalingv2.ScalingActive, corev1.ConditionFalse, "InvalidSelector", "the HPA target's scale is missing a selector")
		st.CurrentMetrics = make([]autoscalingv2.MetricStatus, 0)
	case len(h.Spec.Metrics) > 0:
		for _, m := range h.Spec.Metrics {
			reason, why := lacking(m, h.Namespace)
			h.Warn(h.HorizontalPodAutoscaler, reason, why)
		}
		reason, why := lacking(h.Spec.Metrics[0], h.Namespace)
		n := len(h.Spec.Metrics)
		h.Warn(h.HorizontalPodAutoscaler, "FailedComputeMetricsReplicas", fmt.Sprintf("invalid metrics (%d invalid out of %d), first error is: failed to get %s metric value: %s", n, n, described(h.Spec.Metrics[0]), why))
		h.set(autoscalingv2.ScalingActive, corev1.ConditionFalse, reason, "the HPA was unable to compute the replica count: "+why)
		st.CurrentMetrics = make([]autoscalingv2.MetricStatus, len(h.Spec.Metrics))
	}
	return nil
}

// set sets a condition. The time of the condition changes only with its status.
func (h *autoscaler) set(kind autoscalingv2.HorizontalPodAutoscalerConditionType, status corev1.ConditionStatus, reason, message string) {
	c := autoscalingv2.HorizontalPodAutoscalerCondition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Time{Time: h.now}}
	for i := range h.Status.Conditions {
		if old := &h.Status.Conditions[i]; old.Type == kind {
			if old.Status == status {
				c.LastTransitionTime = old.LastTransitionTime
			}
			*old = c
			return
		}
	}
	h.Status.Conditions = append(h.Status.Conditions, c)
}

// described says what kind of metric it is.
func described(m autoscalingv2.MetricSpec) string {
	switch m.Type {
	case autoscalingv2.ContainerResourceMetricSourceType:
		return m.ContainerResource.Container + " container"
	case autoscalingv2.PodsMetricSourceType:
		return "pods"
	case autoscalingv2.ObjectMetricSourceType:
		return "object"
	case autoscalingv2.ExternalMetricSourceType:
		return m.External.Metric.Name + " external"
	}
	return m.Resource.Name.String() + " resource"
}

// lacking says why a metric is not known.
func lacking(m autoscalingv2.MetricSpec, ns string) (reason, message string) {
	const (
		resources = "unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)"
		custom    = "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered"
	)
	ofResource := func(reason string, name corev1.ResourceName, t autoscalingv2.MetricTarget) (string, string) {
		what := "utilization"
		if t.AverageValue != nil {
			what = "usage"
		}
		return reason, fmt.Sprintf("failed to get %s %s: unable to get metrics for resource %s: %s", name, what, name, resources)
	}
	switch m.Type {
	case autoscalingv2.ContainerResourceMetricSourceType:
		return ofResource("FailedGetContainerResourceMetric", m.ContainerResource.Name, m.ContainerResource.Target)
	case autoscalingv2.PodsMetricSourceType:
		return "FailedGetPodsMetric", fmt.Sprintf("unable to get metric %s: %s", m.Pods.Metric.Name, custom)
	case autoscalingv2.ObjectMetricSourceType:
		o := m.Object.DescribedObject
		return "FailedGetObjectMetric", fmt.Sprintf("unable to get metric %s: %s on %s %s/%s", m.Object.Metric.Name, o.Kind, ns, o.Name, custom)
	case autoscalingv2.ExternalMetricSourceType:
		name := m.External.Metric.Name
		return "FailedGetExternalMetric", fmt.Sprintf("unable to get external metric %s/%s: unable to fetch metrics from external metrics API: the server could not find the requested resource (get %s.external.metrics.k8s.io)", ns, name, name)
	default:
		return ofResource("FailedGetResourceMetric", m.Resource.Name, m.Resource.Target)
	}
}
