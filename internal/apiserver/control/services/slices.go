package services

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
	"github.com/flyball-io/flyball/internal/apiserver/control/pod"
)

const (
	sliceManager = "endpointslice-controller.k8s.io"
	maxEndpoints = 100 // of a slice
)

var serviceKind = schema.GroupVersionKind{Version: "v1", Kind: "Service"}

// group has the endpoints that all slices with the same ports and type of addresses are to have together.
type group struct {
	addresses discoveryv1.AddressType
	ports     []discoveryv1.EndpointPort
	endpoints []discoveryv1.Endpoint
}

// plan has the slices to create, update and remove.
type plan struct {
	c        *calls.Calls
	template discoveryv1.EndpointSlice // of new slices, without addresses
	most     int                       // endpoints of a slice
	trigger  *trigger                  // nil for slices without the annotation
	create   []*discoveryv1.EndpointSlice
	update   []*discoveryv1.EndpointSlice
	remove   []*discoveryv1.EndpointSlice
}

// syncSlices creates, updates and deletes the slices of a Service by its Pods.
func syncSlices(c *calls.Calls, s *corev1.Service, pods []*corev1.Pod, node func(string) *corev1.Node, present []*discoveryv1.EndpointSlice) {
	p := &plan{c: c, most: maxEndpoints, trigger: &trigger{}, template: discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		GenerateName: generateName(s.Name), Namespace: s.Namespace, Labels: sliceLabels(s), OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, serviceKind)},
	}}}
	known := map[string]bool{}
	for _, x := range present {
		for _, e := range x.Endpoints {
			if e.TargetRef != nil && e.Conditions.Serving != nil {
				known[fmt.Sprint(e.TargetRef.UID, *e.Conditions.Serving)] = true
			}
		}
	}
	if len(present) == 0 {
		p.trigger.add(s.CreationTimestamp)
	}
	for _, x := range pods {
		if isIn(x, true) && !known[fmt.Sprint(x.UID, pod.Ready(x))] {
			p.trigger.pod(x)
		}
	}
	served := map[discoveryv1.AddressType]bool{}
	for _, ipv6 := range families(s) {
		kind := discoveryv1.AddressTypeIPv4
		if ipv6 {
			kind = discoveryv1.AddressTypeIPv6
		}
		served[kind] = true
		var mine, others []*discoveryv1.EndpointSlice
		for _, x := range present {
			if x.AddressType == kind && metav1.IsControlledBy(x, s) {
				mine = append(mine, x)
			} else if x.AddressType == kind {
				others = append(others, x)
			}
		}
		p.family(s, pods, node, kind, mine, others)
	}
	for _, x := range present {
		if !served[x.AddressType] {
			p.remove = append(p.remove, x)
		}
	}
	p.finish(s.DeletionTimestamp == nil)
}

// family plans the slices of one type of addresses.
func (p *plan) family(s *corev1.Service, pods []*corev1.Pod, node func(string) *corev1.Node, kind discoveryv1.AddressType, mine, others []*discoveryv1.EndpointSlice) {
	groups := map[string]*group{}
	var order []string
	for _, x := range pods {
		if !isIn(x, true) {
			continue
		}
		n := node(x.Spec.NodeName)
		if n == nil && !s.Spec.PublishNotReadyAddresses {
			continue
		}
		ports := portsOf(s, x)
		key := portKey(ports)
		if groups[key] == nil {
			groups[key] = &group{addresses: kind, ports: ports}
			order = append(order, key)
		}
		if ip := address(x, kind == discoveryv1.AddressTypeIPv6); ip != "" {
			groups[key].endpoints = append(groups[key].endpoints, endpointOf(s, x, n, ip))
		}
	}
	created, removed := len(p.create), len(p.remove)
	p.remove = append(p.remove, others...)
	for _, key := range order {
		p.fill(groups[key], slices.DeleteFunc(slices.Clone(mine), func(x *discoveryv1.EndpointSlice) bool { return portKey(x.Ports) != key }))
	}
	for _, x := range mine {
		if groups[portKey(x.Ports)] == nil {
			p.remove = append(p.remove, x)
		}
	}
	// A Service without addresses has an empty slice.
	if len(p.remove)-removed == len(mine)+len(others) && len(p.create) == created {
		empty := p.newSlice(&group{addresses: kind})
		if gone := p.remove[removed:]; len(gone) == 1 && len(mine) == 1 && len(gone[0].Endpoints)+len(gone[0].Ports) == 0 && maps.Equal(gone[0].Labels, empty.Labels) {
			p.remove = p.remove[:removed]
		} else {
			p.create = append(p.create, empty)
		}
	}
}

// fill plans the slices of a group. Endpoints stay in their slices; new ones go where there is room.
func (p *plan) fill(g *group, present []*discoveryv1.EndpointSlice) {
	left := slices.Clone(g.endpoints)
	var touched, quiet []*discoveryv1.EndpointSlice
	for _, x := range present {
		var kept []discoveryv1.Endpoint
		changed := false
		for _, old := range x.Endpoints {
			if i := slices.IndexFunc(left, func(e discoveryv1.Endpoint) bool { return same(e, old) }); i >= 0 {
				changed = changed || !equality.Semantic.DeepEqual(left[i], old)
				kept = append(kept, left[i])
				left = slices.Delete(left, i, i+1)
			}
		}
		fewer := len(kept) != len(x.Endpoints)
		next := x.DeepCopy()
		next.Endpoints, next.Labels = kept, p.template.Labels
		switch {
		case fewer && len(kept) == 0:
			p.remove = append(p.remove, x)
		case fewer || changed || !maps.Equal(x.Labels, p.template.Labels):
			touched = append(touched, next)
		default:
			quiet = append(quiet, next)
		}
	}
	slices.SortStableFunc(touched, func(a, b *discoveryv1.EndpointSlice) int { return len(b.Endpoints) - len(a.Endpoints) })
	take := func(x *discoveryv1.EndpointSlice) {
		n := min(len(left), p.most-len(x.Endpoints))
		x.Endpoints, left = append(x.Endpoints, left[:n]...), left[n:]
	}
	for _, x := range touched {
		take(x)
	}
	for len(left) > 0 {
		if i := tightest(quiet, len(left), p.most); i >= 0 {
			take(quiet[i])
			touched, quiet = append(touched, quiet[i]), slices.Delete(quiet, i, i+1)
			continue
		}
		x := p.newSlice(g)
		take(x)
		p.create = append(p.create, x)
	}
	p.update = append(p.update, touched...)
}

// tightest returns the index of the slice with the least room that is enough for n endpoints; -1 if there is none.
func tightest(list []*discoveryv1.EndpointSlice, n, most int) int {
	best := -1
	for i, x := range list {
		if len(x.Endpoints)+n <= most && (best < 0 || len(x.Endpoints) > len(list[best].Endpoints)) {
			best = i
		}
	}
	return best
}

// same reports whether a and b are the same endpoint, in two states.
func same(a, b discoveryv1.Endpoint) bool {
	return slices.Equal(a.Addresses, b.Addresses) && equality.Semantic.DeepEqual(a.TargetRef, b.TargetRef) && equality.Semantic.DeepEqual(a.Hostname, b.Hostname)
}

func (p *plan) newSlice(g *group) *discoveryv1.EndpointSlice {
	x := p.template.DeepCopy()
	x.AddressType, x.Ports = g.addresses, g.ports
	return x
}

// finish adds the requests. It updates a slice to remove into one to create, if both have one type of addresses.
func (p *plan) finish(mayCreate bool) {
	for i := 0; i < len(p.remove) && len(p.create) > 0; {
		old, last := p.remove[i], p.create[len(p.create)-1]
		if old.AddressType != last.AddressType || len(old.OwnerReferences) == 0 || old.OwnerReferences[0].UID != last.OwnerReferences[0].UID {
			i++
			continue
		}
		last.Name, last.GenerateName, last.UID, last.ResourceVersion = old.Name, old.GenerateName, old.UID, old.ResourceVersion
		p.update, p.create, p.remove = append(p.update, last), p.create[:len(p.create)-1], slices.Delete(p.remove, i, i+1)
	}
	for _, list := range [][]*discoveryv1.EndpointSlice{p.create, p.update} {
		for _, x := range list {
			if p.trigger != nil {
				p.trigger.annotate(x)
			}
		}
	}
	if mayCreate {
		for _, x := range p.create {
			p.c.Create(x)
		}
	}
	for _, x := range p.update {
		p.c.Update(x)
	}
	for _, x := range p.remove {
		p.c.Delete(x, "")
	}
}

// sliceLabels are the labels of the slices of a Service.
func sliceLabels(s *corev1.Service) map[string]string {
	out := maps.Clone(s.Labels)
	if out == nil {
		out = map[string]string{}
	}
	delete(out, corev1.IsHeadlessService)
	if isHeadless(s) {
		out[corev1.IsHeadlessService] = ""
	}
	out[discoveryv1.LabelServiceName], out[discoveryv1.LabelManagedBy] = s.Name, sliceManager
	return out
}

// generateName returns the prefix of the generated names of slices.
func generateName(service string) string {
	if name := service + "-"; len(validation.IsDNS1123Subdomain(name+"a")) == 0 {
		return name
	}
	return service
}

// portsOf returns the ports of a pod that the Service leads to.
func portsOf(s *corev1.Service, p *corev1.Pod) []discoveryv1.EndpointPort {
	out := []discoveryv1.EndpointPort{}
	for i := range s.Spec.Ports {
		x := &s.Spec.Ports[i]
		if n, ok := target(p, x); ok {
			out = append(out, discoveryv1.EndpointPort{Name: &x.Name, Port: &n, Protocol: &x.Protocol, AppProtocol: x.AppProtocol})
		}
	}
	sortPorts(out)
	return out
}

// sortPorts sorts ports as the real controllers do: by a hash.
func sortPorts(ports []discoveryv1.EndpointPort) {
	text := func(p discoveryv1.EndpointPort) string {
		app := "<nil>"
		if p.AppProtocol != nil {
			app = *p.AppProtocol
		}
		return fmt.Sprintf("(v1.EndpointPort){Name:(*string)%s Protocol:(*v1.Protocol)%s Port:(*int32)%d AppProtocol:(*string)%s}", *p.Name, *p.Protocol, *p.Port, app)
	}
	slices.SortFunc(ports, func(a, b discoveryv1.EndpointPort) int { return cmp.Compare(hash(text(a)), hash(text(b))) })
}

// portKey returns a key that is equal for equal sets of ports.
func portKey(ports []discoveryv1.EndpointPort) string {
	var out []string
	for _, p := range ports {
		text := func(s *string) string {
			if s == nil {
				return "-"
			}
			return *s
		}
		var protocol, number string
		if p.Protocol != nil {
			protocol = string(*p.Protocol)
		}
		if p.Port != nil {
			number = fmt.Sprint(*p.Port)
		}
		out = append(out, strings.Join([]string{text(p.Name), number, protocol, text(p.AppProtocol)}, " "))
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

// endpointOf returns the endpoint of a Pod in a slice.
func endpointOf(s *corev1.Service, p *corev1.Pod, n *corev1.Node, ip string) discoveryv1.Endpoint {
	serving, terminating := pod.Ready(p), p.DeletionTimestamp != nil
	ready := s.Spec.PublishNotReadyAddresses || serving && !terminating
	e := discoveryv1.Endpoint{
		Addresses: []string{ip}, TargetRef: reference(p),
		Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &terminating},
	}
	if p.Spec.NodeName != "" {
		e.NodeName = &p.Spec.NodeName
	}
	if n != nil && n.Labels[corev1.LabelTopologyZone] != "" {
		zone := n.Labels[corev1.LabelTopologyZone]
		e.Zone = &zone
	}
	if hasHostname(s, p) {
		e.Hostname = &p.Spec.Hostname
	}
	if ready {
		e.Hints = hintsOf(s, e)
	}
	return e
}

// hintsOf returns for which zones and nodes an endpoint is, as the distribution of the Service wants it.
func hintsOf(s *corev1.Service, e discoveryv1.Endpoint) *discoveryv1.EndpointHints {
	if s.Spec.TrafficDistribution == nil {
		return nil
	}
	sameNode := *s.Spec.TrafficDistribution == corev1.ServiceTrafficDistributionPreferSameNode
	out := &discoveryv1.EndpointHints{}
	if e.Zone != nil {
		out.ForZones = []discoveryv1.ForZone{{Name: *e.Zone}}
	}
	if e.NodeName != nil && sameNode {
		out.ForNodes = []discoveryv1.ForNode{{Name: *e.NodeName}}
	}
	if out.ForZones == nil && out.ForNodes == nil {
		return nil
	}
	return out
}
