package services

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
	"github.com/flyball-io/flyball/internal/apiserver/control/pod"
)

const (
	managedBy  = "endpoints.kubernetes.io/managed-by"
	manager    = "endpoint-controller"
	maxEntries = 1000 // of addresses in one object
)

// Endpoints has the addresses behind a Service.
//
//lint:ignore SA1019 clusters still have them
type Endpoints = corev1.Endpoints

// subset is a part of it.
//
//lint:ignore SA1019 clusters still have them
type subset = corev1.EndpointSubset

// syncEndpoints creates, updates or deletes the Endpoints of a Service by its Pods. present may be nil.
func syncEndpoints(c *calls.Calls, s *corev1.Service, pods []*corev1.Pod, present *Endpoints) {
	var subsets []subset
	var changed trigger
	known := map[string]bool{} // ready or not, by Pod
	if present == nil {
		changed.add(s.CreationTimestamp)
	} else {
		for _, x := range present.Subsets {
			for ready, list := range map[bool][]corev1.EndpointAddress{true: x.Addresses, false: x.NotReadyAddresses} {
				for _, a := range list {
					if a.TargetRef != nil {
						known[fmt.Sprint(a.TargetRef.UID, ready)] = true
					}
				}
			}
		}
	}
	for _, p := range pods {
		ip := address(p, families(s)[0])
		if !isIn(p, s.Spec.PublishNotReadyAddresses) || ip == "" {
			continue
		}
		ready := s.Spec.PublishNotReadyAddresses || pod.Ready(p)
		if !known[fmt.Sprint(p.UID, ready)] {
			changed.pod(p)
		}
		a := corev1.EndpointAddress{IP: ip, NodeName: &p.Spec.NodeName, TargetRef: reference(p)}
		if hasHostname(s, p) {
			a.Hostname = p.Spec.Hostname
		}
		var ports []corev1.EndpointPort
		for i := range s.Spec.Ports {
			x := &s.Spec.Ports[i]
			if n, ok := target(p, x); ok {
				ports = append(ports, corev1.EndpointPort{Name: x.Name, Port: n, Protocol: x.Protocol, AppProtocol: x.AppProtocol})
			}
		}
		if len(ports) == 0 && !(len(s.Spec.Ports) == 0 && s.Spec.ClusterIP == corev1.ClusterIPNone) {
			continue
		}
		x := subset{NotReadyAddresses: []corev1.EndpointAddress{a}, Ports: ports}
		if ready {
			x.Addresses, x.NotReadyAddresses = x.NotReadyAddresses, nil
		}
		subsets = append(subsets, x)
	}
	subsets = repack(subsets)
	over := truncate(subsets)
	want := map[string]string{managedBy: manager}
	maps.Copy(want, s.Labels)
	if isHeadless(s) {
		want[corev1.IsHeadlessService] = ""
	}
	want[managedBy] = manager
	if present != nil && equality.Semantic.DeepEqual(present.Subsets, subsets) && maps.Equal(present.Labels, want) && (present.Annotations[corev1.EndpointsOverCapacity] != "") == over {
		return
	}
	e := &Endpoints{}
	if present != nil {
		e = present.DeepCopy()
	}
	e.Name, e.Namespace, e.Labels, e.Subsets = s.Name, s.Namespace, want, subsets
	changed.annotate(e)
	delete(e.Annotations, corev1.EndpointsOverCapacity)
	if over {
		e.Annotations[corev1.EndpointsOverCapacity] = "truncated"
	}
	if present == nil {
		c.Create(e)
	} else {
		c.Update(e)
	}
}

// repack returns subsets in their shortest form: addresses with the same ports share a subset.
func repack(subsets []subset) []subset {
	type host struct {
		address corev1.EndpointAddress
		ready   bool
	}
	byPort := map[string]map[string]host{}
	ports := map[string]*corev1.EndpointPort{} // nil for no port
	for i := range subsets {
		x := &subsets[i]
		list := []*corev1.EndpointPort{nil}
		if len(x.Ports) > 0 {
			list = nil
			for i := range x.Ports {
				list = append(list, &x.Ports[i])
			}
		}
		for _, p := range list {
			key := dump(p)
			ports[key] = p
			if byPort[key] == nil {
				byPort[key] = map[string]host{}
			}
			add := func(a corev1.EndpointAddress, ready bool) {
				id := a.IP + " "
				if a.TargetRef != nil {
					id += string(a.TargetRef.UID)
				}
				if was, ok := byPort[key][id]; !ok || was.ready {
					byPort[key][id] = host{a, ready}
				}
			}
			for _, a := range x.Addresses {
				add(a, true)
			}
			for _, a := range x.NotReadyAddresses {
				add(a, false)
			}
		}
	}
	byHosts := map[string]*subset{}
	for _, key := range slices.Sorted(maps.Keys(byPort)) {
		var x subset
		var id strings.Builder
		for _, h := range slices.Sorted(maps.Keys(byPort[key])) {
			host := byPort[key][h]
			fmt.Fprintf(&id, "%s %t,", h, host.ready)
			if host.ready {
				x.Addresses = append(x.Addresses, host.address)
			} else {
				x.NotReadyAddresses = append(x.NotReadyAddresses, host.address)
			}
		}
		if byHosts[id.String()] == nil {
			byHosts[id.String()] = &x
		}
		if p := ports[key]; p != nil {
			byHosts[id.String()].Ports = append(byHosts[id.String()].Ports, *p)
		}
	}
	var out []subset
	for _, id := range slices.Sorted(maps.Keys(byHosts)) {
		x := byHosts[id]
		slices.SortFunc(x.Ports, func(a, b corev1.EndpointPort) int { return cmp.Compare(hash(dump(&a)), hash(dump(&b))) })
		out = append(out, *x)
	}
	return out
}

// dump is the text of a port that the real controller hashes.
func dump(p *corev1.EndpointPort) string {
	if p == nil {
		return ""
	}
	protocol := "<nil>"
	if p.AppProtocol != nil {
		protocol = *p.AppProtocol
	}
	return fmt.Sprintf("(v1.EndpointPort){Name:(string)%s Port:(int32)%d Protocol:(v1.Protocol)%s AppProtocol:(*string)%s}", p.Name, p.Port, p.Protocol, protocol)
}

// hash decides on the order of ports.
func hash(text string) string {
	h := fnv.New128a()
	_, _ = h.Write([]byte(text)) // a hash never fails
	return string(h.Sum(nil))
}

// truncate drops the addresses that do not fit into one object, those that are not ready first. It reports whether it
// has dropped any.
func truncate(subsets []subset) bool {
	ready, total := 0, 0
	for _, x := range subsets {
		ready += len(x.Addresses)
		total += len(x.Addresses) + len(x.NotReadyAddresses)
	}
	if total <= maxEntries {
		return false
	}
	left, others := min(ready, maxEntries), max(0, maxEntries-ready)
	for i := range subsets {
		x := &subsets[i]
		x.Addresses = x.Addresses[:min(len(x.Addresses), left)]
		left -= len(x.Addresses)
		x.NotReadyAddresses = x.NotReadyAddresses[:min(len(x.NotReadyAddresses), others)]
		others -= len(x.NotReadyAddresses)
	}
	return true
}
