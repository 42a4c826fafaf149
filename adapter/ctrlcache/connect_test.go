package ctrlcache

import (
	"net/http"
	"testing"

	"k8s.io/client-go/rest"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/flyball-io/flyball/adapter/internal/transport"
)

// roundTripper is a transport of the program.
type roundTripper struct{ http.RoundTripper }

// The client of the manager is made from the same configuration: then the cache makes a transport of its own.
// Any other client is used as it is.
func TestTransportOfTheProgram(t *testing.T) {
	cfg := &rest.Config{Host: "https://127.0.0.1:1", BearerToken: "secret", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	own, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		client  *http.Client
		foreign bool
	}{
		"none":                   {nil, false},
		"that of the manager":    {own, false},
		"a wrapper":              {&http.Client{Transport: roundTripper{own.Transport}}, true},
		"another transport":      {&http.Client{Transport: &http.Transport{}}, true},
		"the default of package": {&http.Client{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := connect(cfg, &crcache.Options{HTTPClient: tc.client, Mapper: noMapper{}})
			if err != nil {
				t.Fatal(err)
			}
			if c.foreign != tc.foreign {
				t.Errorf("foreign: %v", c.foreign)
			}
			to, err := transport.Over(cfg, cmpOr(tc.client, own))
			if err != nil {
				t.Fatal(err)
			}
			if tc.foreign && (to.BearerToken != "" || to.Transport == nil || to.Host != "https://127.0.0.1:1") {
				t.Errorf("%+v", to)
			}
		})
	}
}

func cmpOr(a, b *http.Client) *http.Client {
	if a == nil {
		return b
	}
	return a
}
