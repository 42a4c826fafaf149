package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	core "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/core/service/portallocator"
	service "k8s.io/kubernetes/pkg/registry/core/service/storage"
)

const serviceKeys = "/core/services/"

// serviceRange are the addresses of Services, and firstPort to lastPort their node ports.
var serviceRange = net.IPNet{IP: net.IPv4(10, 0, 0, 0).To4(), Mask: net.CIDRMask(16, 32)}

const firstPort, lastPort = 30000, 32767

// allocations gives Services their addresses and ports: the lowest ones that no Service of the call has. The
// interfaces of allocators have no context, so one call holds it at a time.
type allocations struct {
	mu    sync.Mutex // held while a request about Services is answered
	call  *call
	known bool
	ips   map[string]bool
	ports map[int]bool
	// service is the Service that is created or updated.
	service *core.Service
	// inner makes a request of the server itself.
	inner func(c *call, method, path string, body []byte) error
}

// acquire makes c the call of the allocations, and returns the function that releases them. It blocks while another
// call holds them.
func (a *allocations) acquire(c *call) (release func()) {
	a.mu.Lock()
	a.call, a.known, a.service, a.ips, a.ports = c, false, nil, map[string]bool{}, map[int]bool{}
	return a.mu.Unlock
}

// read collects the addresses and ports of the Services of the call, once.
func (a *allocations) read() error {
	if a.known {
		return nil
	}
	a.known = true
	for _, text := range a.call.under(serviceKeys) {
		var s struct {
			Spec struct {
				ClusterIPs          []string
				HealthCheckNodePort int
				Ports               []struct{ NodePort int }
			}
		}
		if err := json.Unmarshal(text, &s); err != nil {
			return err
		}
		for _, ip := range s.Spec.ClusterIPs {
			a.ips[ip] = true
		}
		a.ports[s.Spec.HealthCheckNodePort] = true
		for _, p := range s.Spec.Ports {
			a.ports[p.NodePort] = true
		}
	}
	return nil
}

// endpointsOf is the storage of Endpoints for the storage of Services, which leaves out the context when it
// deletes the Endpoints of a Service.
type endpointsOf struct {
	*allocations
	service.EndpointsStorage
}

func (e endpointsOf) Delete(ctx context.Context, name string, valid rest.ValidateObjectFunc, o *metav1.DeleteOptions) (runtime.Object, bool, error) {
	return e.EndpointsStorage.Delete(context.WithValue(ctx, callKey{}, e.call), name, valid, o)
}

// ports allocates node ports.
type ports struct{ *allocations }

var _ portallocator.Interface = ports{}

func (p ports) Allocate(port int) error {
	if err := p.read(); err != nil {
		return err
	}
	if port < firstPort || port > lastPort {
		return &portallocator.ErrNotInRange{ValidPorts: "30000-32767"}
	}
	if p.allocations.ports[port] {
		return portallocator.ErrAllocated
	}
	p.allocations.ports[port] = true
	return nil
}

func (p ports) AllocateNext() (int, error) {
	for port := firstPort; port <= lastPort; port++ {
		if err := p.Allocate(port); !errors.Is(err, portallocator.ErrAllocated) {
			return port, err
		}
	}
	return 0, portallocator.ErrFull
}

func (p ports) Release(int) error { return nil }
func (p ports) ForEach(func(int)) {}
func (p ports) Has(port int) bool { return p.allocations.ports[port] }
func (p ports) Destroy()          {}
func (p ports) EnableMetrics()    {}
