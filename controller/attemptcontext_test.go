package controller

import (
	"context"
	"log/slog"
	"testing"

	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/workqueue"
)

func TestAttemptContextMakesTheLoggerOnDemand(t *testing.T) {
	type other struct{}
	made, logger := 0, slog.New(slog.DiscardHandler)
	c := &Controller[string]{o: Options{LogConstructor: func(*slog.Logger, any, int) *slog.Logger {
		made++
		return logger
	}}}
	cause := reconcile.Cause{Trigger: reconcile.Created, Count: 2}
	a := &attempt[string]{running: &running[string]{Controller: c}, item: workqueue.Item[string, reconcile.Cause]{Key: "k", Value: cause}}
	base, cancel := context.WithCancel(context.WithValue(t.Context(), other{}, 7))
	ctx := attemptContext[string]{base, a}
	below, stop := context.WithCancel(ctx)
	defer stop()
	if ctx.Value(other{}) != 7 || ctx.Value("nothing") != nil || reconcile.CauseFrom(below) != cause || made != 0 {
		t.Errorf("%+v, %d loggers were made", reconcile.CauseFrom(below), made)
	}
	for range 2 {
		if reconcile.Logger(below) != logger || made != 1 {
			t.Errorf("%d loggers were made", made)
		}
	}
	if own := slog.New(slog.DiscardHandler); reconcile.Logger(reconcile.WithLogger(below, own)) != own {
		t.Error("an inner logger does not take precedence")
	}
	if cancel(); below.Err() == nil || ctx.Err() == nil {
		t.Error("the context does not end with its parent")
	}
}
