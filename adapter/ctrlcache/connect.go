package ctrlcache

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/flyball-io/flyball/adapter/internal/transport"
	"github.com/flyball-io/flyball/client"
)

// connection has the clients of a cache. plain knows no Go types: what it reads is JSON.
type connection struct {
	typed, plain *client.Live
	foreign      bool // the transport belongs to the program
}

// close closes idle connections, unless they may be those of others.
func (c *connection) close() {
	if !c.foreign {
		c.typed.Close()
		c.plain.Close()
	}
}

// connect makes the clients, and sets the scheme and the mapper of opts if they are nil.
func connect(cfg *rest.Config, opts *crcache.Options) (*connection, error) {
	foreign := false
	if h := opts.HTTPClient; h != nil {
		own := cfg
		var err error
		if cfg, err = transport.Over(cfg, h); err != nil {
			return nil, err
		}
		foreign = cfg != own
	}
	cfg = rest.CopyConfig(cfg)
	if cfg.UserAgent == "" {
		cfg.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	if opts.Scheme == nil {
		opts.Scheme = scheme.Scheme
	}
	if opts.Mapper == nil {
		h := opts.HTTPClient
		if h == nil {
			var err error
			if h, err = rest.HTTPClientFor(cfg); err != nil {
				return nil, fmt.Errorf("http client: %w", err)
			}
		}
		m, err := apiutil.NewDynamicRESTMapper(cfg, h)
		if err != nil {
			return nil, fmt.Errorf("mapper: %w", err)
		}
		opts.Mapper = m
	}
	typed, err := client.New(cfg, client.Options{Scheme: opts.Scheme, Mapper: opts.Mapper})
	if err != nil {
		return nil, err
	}
	plain, err := client.New(cfg, client.Options{Scheme: runtime.NewScheme(), Mapper: opts.Mapper})
	return &connection{typed: typed, plain: plain, foreign: foreign}, err
}
