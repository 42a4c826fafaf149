// Package services has the controllers of the addresses behind Services: Endpoints, EndpointSlices, and the slices
// that mirror the Endpoints of a Service without a selector.
package services

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flyball-io/flyball/internal/apiserver/control/pod"
)

// isIn reports whether a Pod is among the endpoints of its Services. terminating says whether Pods that are being
// deleted count.
func isIn(p *corev1.Pod, terminating bool) bool {
	return !pod.Ended(p) && (p.Status.PodIP != "" || len(p.Status.PodIPs) > 0) && (terminating || p.DeletionTimestamp == nil)
}

// address returns the pod's address of a family; "" if it has none.
func address(p *corev1.Pod, ipv6 bool) string {
	for _, ip := range p.Status.PodIPs {
		if a, err := netip.ParseAddr(ip.IP); err == nil && a.Is6() == ipv6 {
			return a.String()
		}
	}
	return ""
}

// families returns the IP families of a Service in its order, each as whether it is IPv6.
func families(s *corev1.Service) (ipv6 []bool) {
	for _, f := range s.Spec.IPFamilies {
		ipv6 = append(ipv6, f == corev1.IPv6Protocol)
	}
	if ipv6 == nil {
		ipv6 = []bool{strings.Contains(s.Spec.ClusterIP, ":")}
	}
	return ipv6
}

func isHeadless(s *corev1.Service) bool {
	return s.Spec.ClusterIP == "" || s.Spec.ClusterIP == corev1.ClusterIPNone
}

// hasHostname reports whether the pod has a name of its own below the Service.
func hasHostname(s *corev1.Service, p *corev1.Pod) bool {
	return p.Spec.Hostname != "" && p.Spec.Subdomain == s.Name
}

// target returns the port of a pod that a port of a Service leads to. A name is looked up in the containers.
func target(p *corev1.Pod, port *corev1.ServicePort) (int32, bool) {
	if port.TargetPort.Type == intstr.Int {
		return port.TargetPort.IntVal, true
	}
	sidecars := slices.DeleteFunc(slices.Clone(p.Spec.InitContainers), func(c corev1.Container) bool {
		return c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways
	})
	for _, c := range slices.Concat(p.Spec.Containers, sidecars) {
		for _, x := range c.Ports {
			if x.Name == port.TargetPort.StrVal && x.Protocol == port.Protocol {
				return x.ContainerPort, true
			}
		}
	}
	return 0, false
}

func reference(p *corev1.Pod) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID}
}

// trigger is the earliest time of a change that has changed addresses; the zero time if there is none.
type trigger struct{ time.Time }

func (t *trigger) add(at metav1.Time) {
	if !at.IsZero() && (t.IsZero() || at.Time.Before(t.Time)) {
		t.Time = at.Time
	}
}

// pod adds the time of the latest change of a Pod's readiness.
func (t *trigger) pod(p *corev1.Pod) {
	if c := pod.Condition(p, corev1.PodReady); c != nil {
		t.add(c.LastTransitionTime)
	}
}

// annotate sets the annotation with the time, or removes it if there is none.
func (t *trigger) annotate(o metav1.Object) {
	a := o.GetAnnotations()
	if a == nil {
		a = map[string]string{}
	}
	delete(a, corev1.EndpointsLastChangeTriggerTime)
	if !t.IsZero() {
		a[corev1.EndpointsLastChangeTriggerTime] = t.UTC().Format(time.RFC3339Nano)
	}
	o.SetAnnotations(a)
}
