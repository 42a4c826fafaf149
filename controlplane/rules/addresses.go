package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"

	networking "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	core "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
)

const (
	addressKeys = "/networking.k8s.io/ipaddresses/"
	addressPath = "/apis/networking.k8s.io/v1/ipaddresses"
)

// follow lets allocations know the Service that a storage creates or updates.
func (a *allocations) follow(s *genericregistry.Store) {
	create, update := s.BeginCreate, s.BeginUpdate
	s.BeginCreate = func(ctx context.Context, obj runtime.Object, o *metav1.CreateOptions) (genericregistry.FinishFunc, error) {
		a.service, _ = obj.(*core.Service)
		return create(ctx, obj, o)
	}
	s.BeginUpdate = func(ctx context.Context, obj, old runtime.Object, o *metav1.UpdateOptions) (genericregistry.FinishFunc, error) {
		a.service, _ = obj.(*core.Service)
		return update(ctx, obj, old, o)
	}
}

// clusterIPs allocates cluster IPs. Each has an IPAddress, which belongs to the Service.
type clusterIPs struct{ *allocations }

var _ ipallocator.Interface = clusterIPs{}

// inRange reports whether a Service can have an address: it is neither the first of the range nor the last.
func inRange(ip net.IP) bool {
	n := ip.To4()
	return serviceRange.Contains(ip) && (n[2] != 0 || n[3] != 0) && (n[2] != 255 || n[3] != 255)
}

func (a clusterIPs) Allocate(ip net.IP) error {
	if err := a.read(); err != nil {
		return err
	}
	if !inRange(ip) {
		return ipallocator.ErrMismatchedNetwork
	}
	if a.ips[ip.String()] || a.call.get(addressKeys+ip.String()) != nil {
		return ipallocator.ErrAllocated
	}
	one := networking.IPAddress{TypeMeta: metav1.TypeMeta{APIVersion: networking.SchemeGroupVersion.String(), Kind: "IPAddress"}}
	one.Name = ip.String()
	one.Labels = map[string]string{networking.LabelIPAddressFamily: string(a.IPFamily()), networking.LabelManagedBy: ipallocator.ControllerName}
	if s := a.service; s != nil {
		one.Spec.ParentRef = &networking.ParentReference{Resource: "services", Namespace: s.Namespace, Name: s.Name}
	}
	body, err := json.Marshal(one)
	if err != nil {
		return err
	}
	if err := a.inner(a.call, http.MethodPost, addressPath, body); err != nil {
		if refused, ok := errors.AsType[*apierrors.StatusError](err); ok {
			return refused
		}
		return err
	}
	a.ips[ip.String()] = true
	return nil
}

func (a clusterIPs) AllocateNext() (net.IP, error) {
	for n := 2; n < 1<<16-1; n++ { // the first one is that of the Service "kubernetes"
		ip := net.IPv4(serviceRange.IP[0], serviceRange.IP[1], byte(n>>8), byte(n)).To4()
		if err := a.Allocate(ip); !errors.Is(err, ipallocator.ErrAllocated) {
			return ip, err
		}
	}
	return nil, ipallocator.ErrFull
}

// Release deletes the IPAddress. If that fails, nobody is told: so does the real server.
func (a clusterIPs) Release(ip net.IP) error {
	if a.call.get(addressKeys+ip.String()) != nil {
		_ = a.inner(a.call, http.MethodDelete, addressPath+"/"+ip.String(), nil)
	}
	return nil
}

func (a clusterIPs) ForEach(func(net.IP))          {}
func (a clusterIPs) CIDR() net.IPNet               { return serviceRange }
func (a clusterIPs) IPFamily() core.IPFamily       { return core.IPv4Protocol }
func (a clusterIPs) Has(ip net.IP) bool            { return a.ips[ip.String()] }
func (a clusterIPs) Destroy()                      {}
func (a clusterIPs) EnableMetrics()                {}
func (a clusterIPs) DryRun() ipallocator.Interface { return dryIPs{a} }

// dryIPs allocates nothing. Like the real server it does not look for a free address.
type dryIPs struct{ clusterIPs }

func (dryIPs) Allocate(ip net.IP) error {
	if !inRange(ip) {
		return &ipallocator.ErrNotInRange{IP: ip, ValidRange: serviceRange.String()}
	}
	return nil
}

func (dryIPs) AllocateNext() (net.IP, error)   { return serviceRange.IP, nil }
func (dryIPs) Release(net.IP) error            { return nil }
func (d dryIPs) DryRun() ipallocator.Interface { return d }
