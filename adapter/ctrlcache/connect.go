package ctrlcache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/flyball-io/flyball/adapter/internal/transport"
	"github.com/flyball-io/flyball/client"
)

var errNoConfig = errors.New("rest.Config is nil")

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

// connect makes the clients, and sets the scheme and the mapper of opts if they are nil. The warnings of the
// server go to the handler of cfg; if it has none, to log.
func connect(cfg *rest.Config, opts *crcache.Options, log *slog.Logger) (*connection, error) {
	if cfg == nil {
		return nil, errNoConfig
	}
	switch {
	case cfg.WarningHandlerWithContext != nil:
		log = slog.New(warnings{cfg.WarningHandlerWithContext.HandleWarningHeaderWithContext})
	case cfg.WarningHandler != nil:
		log = slog.New(warnings{func(_ context.Context, code int, agent, text string) {
			cfg.WarningHandler.HandleWarningHeader(code, agent, text)
		}})
	}
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
	typed, err := client.New(cfg, client.Options{Scheme: opts.Scheme, Mapper: opts.Mapper, Logger: log})
	if err != nil {
		return nil, err
	}
	plain, err := client.New(cfg, client.Options{Scheme: runtime.NewScheme(), Mapper: opts.Mapper, Logger: log})
	return &connection{typed: typed, plain: plain, foreign: foreign}, err
}

// warnings is the log of a client whose program has a handler of warnings.
type warnings struct {
	handle func(ctx context.Context, code int, agent, text string)
}

// Enabled implements slog.Handler.
func (w warnings) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler.
func (w warnings) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup implements slog.Handler.
func (w warnings) WithGroup(string) slog.Handler { return w }

// Handle implements slog.Handler. A warning is the attribute of that name.
func (w warnings) Handle(ctx context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "warning" {
			w.handle(ctx, 299, "-", a.Value.String())
		}
		return true
	})
	return nil
}
