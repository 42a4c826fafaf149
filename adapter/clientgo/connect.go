package clientgo

import (
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
)

// connection has the clients of a factory. plain knows no Go types: what it reads is JSON.
type connection struct {
	typed, plain *client.Live
	foreign      bool // the transport belongs to the program
}

func connect(cfg *rest.Config, s *runtime.Scheme, m meta.RESTMapper) (*connection, error) {
	if cfg == nil {
		return nil, errors.New("clientgo: the configuration is nil")
	}
	c := &connection{foreign: cfg.Transport != nil}
	cfg = rest.CopyConfig(cfg)
	if cfg.UserAgent == "" {
		cfg.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	var err error
	if c.typed, err = client.New(cfg, client.Options{Scheme: s, Mapper: m}); err != nil {
		return nil, fmt.Errorf("clientgo: %w", err)
	}
	if c.plain, err = client.New(cfg, client.Options{Scheme: runtime.NewScheme(), Mapper: c.typed.Mapper()}); err != nil {
		return nil, fmt.Errorf("clientgo: %w", err)
	}
	return c, nil
}

// close closes idle connections, unless they may be those of others.
func (c *connection) close() {
	if !c.foreign {
		c.typed.Close()
		c.plain.Close()
	}
}

// ErrNoConnection says that a client has no connection to a server: a fake one, or one that is nil.
var ErrNoConnection = errors.New("the client has no connection to a server: pass its *rest.Config")

// ConfigOf returns a configuration that sends requests through the HTTP client of a clientset, with its
// credentials:
//
//	cfg, err := clientgo.ConfigOf(clientset.CoreV1().RESTClient())
//
// Prefer the configuration that the clientset was made from: the packed cache then has a transport that is set up
// for long lists. The error is an [ErrNoConnection] for clients without a server, such as fake ones.
func ConfigOf(c rest.Interface) (*rest.Config, error) {
	rc, ok := c.(*rest.RESTClient)
	if !ok || rc == nil {
		return nil, fmt.Errorf("clientgo: %T: %w", c, ErrNoConnection)
	}
	base := rc.Get().AbsPath("/").URL()
	cfg := &rest.Config{Host: base.String(), Transport: http.DefaultTransport}
	if h := rc.Client; h != nil && h.Transport != nil {
		cfg.Transport = h.Transport
	}
	return cfg, nil
}
