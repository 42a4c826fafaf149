package services

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
)

// Addresses returns the controller of Endpoints.
func Addresses(control.Options) control.Controller {
	user := control.ServiceAccount("endpoint-controller")
	return &control.Keyed{Title: "endpoints-controller", Map: func(s *control.State, c control.Change, add func(string)) {
		ofPods(s, c, add)
		if c.In(calls.Endpoints) && c.Is == nil { // others may change them
			ns, name := calls.Endpoints.Names(c.Key)
			if key := calls.Services.Key(ns, name); s.Meta(key) != nil {
				add(key)
			}
		}
	}, Reconcile: func(_ time.Time, s *control.State, key string) control.Result {
		c := &calls.Calls{User: user}
		ns, name := calls.Services.Names(key)
		service := control.Get[corev1.Service](s, key)
		present := control.Get[Endpoints](s, calls.Endpoints.Key(ns, name))
		switch {
		case service == nil && present != nil:
			c.Delete(present, "")
		case selects(service):
			syncEndpoints(c, service, podsOf(s, service), present)
		}
		return control.Result{Requests: c.List}
	}}
}

// Slices returns the controller of the EndpointSlices of Services with a selector.
func Slices(control.Options) control.Controller {
	user := control.ServiceAccount("endpointslice-controller")
	return &control.Keyed{Title: "endpointslice-controller", Map: func(s *control.State, c control.Change, add func(string)) {
		ofPods(s, c, add)
		ofSlices(c, sliceManager, calls.Services, add)
		if c.In(control.Nodes) && (c.Was == nil || c.Is == nil || c.Was.Labels[corev1.LabelTopologyZone] != c.Is.Labels[corev1.LabelTopologyZone]) {
			for o := range s.All(calls.Services.Prefix("")) {
				add(o.Key)
			}
		}
	}, Reconcile: func(_ time.Time, s *control.State, key string) control.Result {
		c := &calls.Calls{User: user}
		if service := control.Get[corev1.Service](s, key); selects(service) {
			node := func(name string) *corev1.Node { return control.Get[corev1.Node](s, control.Nodes.Key("", name)) }
			syncSlices(c, service, podsOf(s, service), node, slicesOf(s, service.Namespace, service.Name, sliceManager))
		}
		return control.Result{Requests: c.List}
	}}
}

// Mirrors returns the controller of the EndpointSlices that mirror Endpoints.
func Mirrors(control.Options) control.Controller {
	user := control.ServiceAccount("endpointslicemirroring-controller")
	return &control.Keyed{Title: "endpointslice-mirroring-controller", Map: func(_ *control.State, c control.Change, add func(string)) {
		if c.In(calls.Services) {
			add(calls.Endpoints.Key(calls.Services.Names(c.Key)))
		}
		if c.In(calls.Endpoints) {
			add(c.Key)
		}
		ofSlices(c, mirrorManager, calls.Endpoints, add)
	}, Reconcile: func(_ time.Time, s *control.State, key string) control.Result {
		c := &calls.Calls{User: user}
		ns, name := calls.Endpoints.Names(key)
		service := control.Get[corev1.Service](s, calls.Services.Key(ns, name))
		syncMirror(c, service, control.Get[Endpoints](s, key), slicesOf(s, ns, name, mirrorManager))
		return control.Result{Requests: c.List}
	}}
}

// selects reports whether a Service has addresses by its selector.
func selects(s *corev1.Service) bool {
	return s != nil && s.Spec.Type != corev1.ServiceTypeExternalName && s.Spec.Selector != nil
}

// ofPods adds the Services to reconcile after a change of a Service or a Pod.
func ofPods(s *control.State, c control.Change, add func(string)) {
	if c.In(calls.Services) {
		add(c.Key)
	}
	if !c.In(control.Pods) {
		return
	}
	ns, _ := control.Pods.Names(c.Key)
	for key, service := range control.List[corev1.Service](s, calls.Services, ns) {
		if service.Spec.Selector == nil {
			continue
		}
		for m := range c.Metas() {
			if labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(m.Labels)) {
				add(key)
			}
		}
	}
}

// ofSlices adds the owner of a slice that has changed, if manager manages the slice.
func ofSlices(c control.Change, manager string, k control.Kind, add func(string)) {
	if !c.In(calls.Slices) {
		return
	}
	ns, _ := calls.Slices.Names(c.Key)
	for m := range c.Metas() {
		if m.Labels[discoveryv1.LabelManagedBy] == manager && m.Labels[discoveryv1.LabelServiceName] != "" {
			add(k.Key(ns, m.Labels[discoveryv1.LabelServiceName]))
		}
	}
}

func podsOf(s *control.State, service *corev1.Service) []*corev1.Pod {
	var out []*corev1.Pod
	selector := labels.SelectorFromSet(service.Spec.Selector)
	for o := range s.All(control.Pods.Prefix(service.Namespace)) {
		if selector.Matches(labels.Set(o.Labels())) {
			out = append(out, control.Get[corev1.Pod](s, o.Key))
		}
	}
	return out
}

// slicesOf returns the slices of a Service that a controller manages and that are not being deleted.
func slicesOf(s *control.State, ns, name, manager string) []*discoveryv1.EndpointSlice {
	var out []*discoveryv1.EndpointSlice
	for _, x := range control.List[discoveryv1.EndpointSlice](s, calls.Slices, ns) {
		if x.Labels[discoveryv1.LabelManagedBy] == manager && x.Labels[discoveryv1.LabelServiceName] == name {
			out = append(out, x)
		}
	}
	return slices.DeleteFunc(out, func(x *discoveryv1.EndpointSlice) bool { return x.DeletionTimestamp != nil })
}
