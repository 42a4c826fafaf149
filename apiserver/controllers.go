package apiserver

import (
	"context"
	"fmt"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/pki"
	"github.com/flyball-io/flyball/internal/apiserver/web"
)

// startControllers starts controllers, which run until the server is closed.
func startControllers(handler *web.Server, chosen []control.Known, o Options) error {
	if len(chosen) == 0 {
		return nil
	}
	progress := o.progress()
	options := control.Options{Report: func(line string) { fmt.Fprintln(progress, "apiserver: "+line) }}
	if o.TLS {
		authority, err := pki.Of(o.Seed)
		if err != nil {
			return err
		}
		options.CA = string(authority.CA())
	}
	return handler.Control(control.NewSet(chosen, options))
}

// Settle waits until the controllers have nothing left to do now. It does not wait for work of a later time, such as
// the retry of a failed request. Without controllers it returns at once. The error is the cause of the end of ctx, or
// that the server was closed.
func (s *Server) Settle(ctx context.Context) error { return s.web.Settle(ctx) }

// Due is the earliest time when a controller acts without a change. It is zero if they have not, or if there are no
// controllers. Call it after [Server.Settle].
func (s *Server) Due() time.Time { return s.web.Due() }
