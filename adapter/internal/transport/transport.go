// Package transport sends the requests of an adapter by the HTTP client of a program.
package transport

import (
	"fmt"
	"net/http"
	"reflect"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// Over returns a configuration that sends requests by a client, which has the credentials. It returns cfg
// if the client is that of cfg: client.Live then makes a transport that is set up for lists.
func Over(cfg *rest.Config, h *http.Client) (*rest.Config, error) {
	if own, err := rest.TransportFor(cfg); err == nil && sameTransport(own, h.Transport) {
		return cfg, nil
	}
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("address: %w", err)
	}
	c := rest.AnonymousClientConfig(cfg)
	c.Host, c.TLSClientConfig, c.Dial, c.Proxy, c.WrapTransport = base.String(), rest.TLSClientConfig{}, nil, nil, nil
	if c.Transport = h.Transport; c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	return c, nil
}

// sameTransport reports whether two chains of wrappers have the same types, around the same transport.
func sameTransport(a, b http.RoundTripper) bool {
	for {
		if a == nil || b == nil || reflect.TypeOf(a) != reflect.TypeOf(b) || !reflect.TypeOf(a).Comparable() {
			return false
		}
		if a == b {
			return true
		}
		x, ok := a.(utilnet.RoundTripperWrapper)
		if !ok {
			return false
		}
		a, b = x.WrappedRoundTripper(), b.(utilnet.RoundTripperWrapper).WrappedRoundTripper()
	}
}
