package services

import (
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
)

const mirrorManager = "endpointslicemirroring-controller.k8s.io"

var endpointsKind = schema.GroupVersionKind{Version: "v1", Kind: "Endpoints"}

// leaderAnnotation is on Endpoints that are the lock of an election.
const leaderAnnotation = "control-plane.alpha.kubernetes.io/leader"

// syncMirror creates, updates and deletes the slices that mirror Endpoints. s and e are nil for objects that are gone.
func syncMirror(c *calls.Calls, s *corev1.Service, e *Endpoints, present []*discoveryv1.EndpointSlice) {
	if s == nil || s.Spec.Selector != nil || e == nil || e.Labels[discoveryv1.LabelSkipMirror] == "true" || e.Annotations[leaderAnnotation] != "" {
		for _, x := range present {
			c.Delete(x, "")
		}
		return
	}
	labels, annotations := maps.Clone(e.Labels), maps.Clone(e.Annotations)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[discoveryv1.LabelServiceName], labels[discoveryv1.LabelManagedBy] = e.Name, mirrorManager
	delete(annotations, corev1.EndpointsLastChangeTriggerTime)
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	p := &plan{c: c, most: maxEntries, template: discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		GenerateName: generateName(e.Name), Namespace: e.Namespace, Labels: labels, Annotations: annotations,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(e, endpointsKind)},
	}}}
	wanted := map[string]bool{}
	for _, x := range repack(e.Subsets) {
		for _, g := range mirrored(&x) {
			key := string(g.addresses) + portKey(g.ports)
			wanted[key] = true
			if len(g.endpoints) > p.most {
				g.endpoints = g.endpoints[:p.most]
			}
			mine := slices.DeleteFunc(slices.Clone(present), func(x *discoveryv1.EndpointSlice) bool { return string(x.AddressType)+portKey(x.Ports) != key })
			for i, x := range mine {
				if !maps.Equal(x.Annotations, annotations) {
					mine[i] = x.DeepCopy()
					mine[i].Annotations, mine[i].Labels = annotations, nil // so that it is updated
				}
			}
			p.fill(g, mine)
		}
	}
	for _, x := range present {
		if !wanted[string(x.AddressType)+portKey(x.Ports)] {
			p.remove = append(p.remove, x)
		}
	}
	p.finish(e.DeletionTimestamp == nil)
}

// mirrored returns the groups of a subset: one for each type of its addresses.
func mirrored(x *subset) []*group {
	var ports []discoveryv1.EndpointPort
	for i := range x.Ports {
		p := &x.Ports[i]
		ports = append(ports, discoveryv1.EndpointPort{Name: &p.Name, Port: &p.Port, Protocol: &p.Protocol, AppProtocol: p.AppProtocol})
	}
	sortPorts(ports)
	ipv4, ipv6 := &group{addresses: discoveryv1.AddressTypeIPv4, ports: ports}, &group{addresses: discoveryv1.AddressTypeIPv6, ports: ports}
	add := func(list []corev1.EndpointAddress, ready bool) {
		for i := range list {
			a := &list[i]
			ip, err := netip.ParseAddr(a.IP)
			if err != nil {
				continue
			}
			e := discoveryv1.Endpoint{Addresses: []string{ip.String()}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}, TargetRef: a.TargetRef, NodeName: a.NodeName}
			if a.Hostname != "" {
				e.Hostname = &a.Hostname
			}
			g := ipv4
			if ip.Is6() {
				g = ipv6
			}
			g.endpoints = append(g.endpoints, e)
		}
	}
	add(x.Addresses, true)
	add(x.NotReadyAddresses, false)
	return slices.DeleteFunc([]*group{ipv4, ipv6}, func(g *group) bool { return len(g.endpoints) == 0 })
}
