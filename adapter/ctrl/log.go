package ctrl

import (
	"context"
	"log/slog"

	"github.com/go-logr/logr"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/reconcile"
)

// Logger returns the log of a manager. Programs give it to log.SetLogger of controller-runtime, for all that
// logs outside of a reconcile:
//
//	log.SetLogger(ctrl.Logger(mgr))
func Logger(mgr *flyball.Manager) logr.Logger { return logr.FromSlogHandler(mgr.Logger().Handler()) }

// withLogger lets log.FromContext return the logger of the attempt.
func withLogger(ctx context.Context) context.Context {
	return logr.NewContext(ctx, logr.FromSlogHandler(attemptLog{ctx}))
}

// attemptLog asks for the logger of the attempt when it is used: most reconciles log nothing, and then none
// is made.
type attemptLog struct{ ctx context.Context }

func (l attemptLog) handler() slog.Handler { return reconcile.Logger(l.ctx).Handler() }

// Enabled implements slog.Handler.
func (l attemptLog) Enabled(ctx context.Context, level slog.Level) bool {
	return l.handler().Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (l attemptLog) Handle(ctx context.Context, r slog.Record) error {
	return l.handler().Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (l attemptLog) WithAttrs(attrs []slog.Attr) slog.Handler { return l.handler().WithAttrs(attrs) }

// WithGroup implements slog.Handler.
func (l attemptLog) WithGroup(name string) slog.Handler { return l.handler().WithGroup(name) }
