package apiserver

import (
	"context"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/pki"
	"github.com/flyball-io/flyball/internal/apiserver/web"
)

// startControllers lets controllers run until the server is closed.
func startControllers(handler *web.Server, chosen []control.Known, o Options) error {
	if len(chosen) == 0 {
		return nil
	}
	var options control.Options
	if o.TLS {
		authority, err := pki.Of(o.Seed)
		if err != nil {
			return err
		}
		options.CA = string(authority.CA())
	}
	return handler.Control(control.NewSet(chosen, options))
}

// Settle waits until the controllers have done all that is due. What they do at a later time, such as the retry of a
// failed request, it does not wait for. The error is the cause of the end of ctx.
func (s *Server) Settle(ctx context.Context) error { return s.web.Settle(ctx) }
