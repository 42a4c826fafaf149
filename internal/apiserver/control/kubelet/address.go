package kubelet

import (
	"encoding/binary"
	"hash/fnv"
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control"
)

// addresses has the addresses of all Pods. The address of a Pod depends on its uid, and on the addresses in use.
type addresses struct {
	of    map[string]netip.Addr // by the key of the Pod
	taken map[netip.Addr]string
}

// hosts is how many addresses [control.PodNetwork] has.
const hosts = 1 << 22

func newAddresses() *addresses {
	return &addresses{of: map[string]netip.Addr{}, taken: map[netip.Addr]string{}}
}

// observe records the address in the status of a Pod. p is nil for a Pod that is gone.
func (a *addresses) observe(key string, p *corev1.Pod) {
	var is netip.Addr
	if p != nil && !p.Spec.HostNetwork {
		is, _ = netip.ParseAddr(p.Status.PodIP) // the zero value without an address
	}
	was, had := a.of[key]
	if had && was == is {
		return
	}
	if had && a.taken[was] == key {
		delete(a.taken, was)
	}
	delete(a.of, key)
	if is.IsValid() {
		a.of[key], a.taken[is] = is, key
	}
}

// give sets the address of a Pod, and that of its Node, in the status of the Pod.
func (a *addresses) give(key string, p *corev1.Pod, n *corev1.Node) {
	host := addressOf(n)
	if host == "" {
		host = nodeAddress
	}
	p.Status.HostIP, p.Status.HostIPs = host, []corev1.HostIP{{IP: host}}
	ip := host
	if !p.Spec.HostNetwork {
		ip = a.free(key, string(p.UID)).String()
	}
	p.Status.PodIP, p.Status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
}

// free returns an address that no other Pod has, and takes it for a Pod.
func (a *addresses) free(key, uid string) netip.Addr {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(uid)) // it never fails
	first := control.PodNetwork.Addr().As4()
	network := binary.BigEndian.Uint32(first[:])
	for n := sum.Sum32() % hosts; ; n = (n + 1) % hosts {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], network+n)
		ip := netip.AddrFrom4(b)
		if b[3] == 0 || b[3] == 255 || a.taken[ip] != "" {
			continue
		}
		a.of[key], a.taken[ip] = ip, key
		return ip
	}
}
