package controller

import (
	"context"
	"errors"
	"log/slog"

	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/run"
)

// The functions of users that a controller calls, beside the reconciler.
const (
	partPredicate = "predicate"
	partHandler   = "handler"
	partSource    = "source"
	partPriority  = "priority"
	partLogger    = "logger"
	partHook      = "hook"
)

// reporter reports failures beside reconciles: every one to the hook, and to the log five at once and then one a
// minute.
type reporter struct {
	controller, source string
	hook               func(Problem)
	logger             *slog.Logger
	lines              logguard.Throttle
}

func newReporter(c string, o Options, logger *slog.Logger, source string) *reporter {
	if source != "" {
		logger = logger.With("source", source)
	}
	return &reporter{controller: c, source: source, hook: o.Hooks.Problem, logger: logger}
}

func (r *reporter) problem(part string, err error) {
	if r.hook != nil {
		_, isPanic := errors.AsType[*run.PanicError](err)
		p := Problem{Controller: r.controller, Source: r.source, Part: part, Panicked: isPanic, Err: err}
		if err := run.Safely("Hooks.Problem", func() error { r.hook(p); return nil }); err != nil {
			r.log(partHook, err)
		}
	}
	r.log(part, err)
}

func (r *reporter) log(part string, err error) {
	text, level := "part of the controller failed", slog.LevelError
	if _, slow := errors.AsType[*OverdueError](err); slow {
		text, level = "source takes long", slog.LevelWarn
	} else if r.source != "" {
		text = "source failed"
	}
	r.lines.Next(r.logger).Log(context.Background(), level, text, logguard.ErrAttrs(err, "part", part)...)
}
