package main

import (
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// hookService is the Service in front of a webhook.
type hookService struct {
	name, namespace string
	port            int32
}

// addresses returns the addresses of the ready endpoints of a Service: those of its EndpointSlices or, if there are
// none, of its Endpoints. A cluster IP leads nowhere here, so a Service without endpoints refuses the connection, as
// kube-proxy does.
func (s *hookService) addresses(c *call) ([]string, error) {
	lock := &callLock{call: c}
	u, err := proxy.ResolveCluster(lockedInformers{lock: lock}.Core().V1().Services().Lister(), s.namespace, s.name, s.port)
	if err != nil {
		return nil, err
	}
	svc, err := lockedInformers{lock: lock}.Core().V1().Services().Lister().Services(s.namespace).Get(s.name)
	if err != nil {
		return nil, err
	}
	if svc.Spec.Type == corev1.ServiceTypeExternalName {
		return []string{u.Host}, nil
	}
	name := ""
	for _, p := range svc.Spec.Ports {
		if p.Port == s.port {
			name = p.Name
		}
	}
	out, err := s.bySlices(c, name)
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		if out, err = s.byEndpoints(c, name); err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("dial tcp %s: connect: connection refused", u.Host)
	}
	return out, nil
}

func (s *hookService) bySlices(c *call, port string) (out []string, err error) {
	mine := labels.Set{discovery.LabelServiceName: s.name}.AsSelector()
	for _, text := range c.under("/discovery.k8s.io/endpointslices/" + s.namespace + "/") {
		var slice discovery.EndpointSlice
		if err := runtime.DecodeInto(legacyscheme.Codecs.UniversalDeserializer(), text, &slice); err != nil {
			return nil, err
		}
		if !mine.Matches(labels.Set(slice.Labels)) {
			continue
		}
		for _, p := range slice.Ports {
			if p.Port == nil || p.Name != nil && *p.Name != port || p.Name == nil && port != "" {
				continue
			}
			for _, e := range slice.Endpoints {
				if e.Conditions.Ready != nil && !*e.Conditions.Ready {
					continue
				}
				for _, a := range e.Addresses {
					out = append(out, net.JoinHostPort(a, strconv.Itoa(int(*p.Port))))
				}
			}
		}
	}
	return out, nil
}

func (s *hookService) byEndpoints(c *call, port string) (out []string, err error) {
	text := c.get("/core/endpoints/" + s.namespace + "/" + s.name)
	if text == nil {
		return nil, nil
	}
	var e corev1.Endpoints //nolint:staticcheck // tests still make them
	if err := runtime.DecodeInto(legacyscheme.Codecs.UniversalDeserializer(), text, &e); err != nil {
		return nil, err
	}
	for _, subset := range e.Subsets {
		for _, p := range subset.Ports {
			if p.Name != port {
				continue
			}
			for _, a := range subset.Addresses {
				out = append(out, net.JoinHostPort(a.IP, strconv.Itoa(int(p.Port))))
			}
		}
	}
	return out, nil
}
