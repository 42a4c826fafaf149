package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
)

func TestTerminalIsFoundInWrappedErrors(t *testing.T) {
	cause := errors.New("no such thing")
	for _, tc := range []struct {
		name     string
		err      error
		terminal bool
	}{
		{"nil", nil, false},
		{"plain", cause, false},
		{"Terminal(nil)", reconcile.Terminal(nil), false},
		{"terminal", reconcile.Terminal(cause), true},
		{"wrapped", fmt.Errorf("reading: %w", reconcile.Terminal(cause)), true},
		{"joined", errors.Join(errors.New("other"), reconcile.Terminal(cause)), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := reconcile.IsTerminal(tc.err); got != tc.terminal {
				t.Errorf("IsTerminal = %v, want %v", got, tc.terminal)
			}
		})
	}
	if err := reconcile.Terminal(cause); !errors.Is(err, cause) {
		t.Errorf("%v does not wrap its cause", err)
	}
	if err := reconcile.Terminal(nil); err != nil {
		t.Errorf("Terminal(nil) = %v", err)
	}
}

func TestMergeKeepsTheLatestChange(t *testing.T) {
	pod := object.Key{Namespace: "web", Name: "a"}
	created := reconcile.Cause{Trigger: reconcile.Created, Key: pod, ResourceVersion: "1", Count: 1}
	updated := reconcile.Cause{Trigger: reconcile.Updated, Key: pod, ResourceVersion: "2", Count: 2}
	retried := reconcile.Cause{Trigger: reconcile.Retried, Count: 1}
	requeued := reconcile.Cause{Trigger: reconcile.Requeued, Count: 1}
	with := func(c reconcile.Cause, count int) reconcile.Cause { c.Count = count; return c }
	for _, tc := range []struct {
		name               string
		first, later, want reconcile.Cause
	}{
		{"the later change stays", created, updated, with(updated, 3)},
		{"a change stays in front of a retry", updated, retried, updated},
		{"a change takes the place of a retry", retried, created, created},
		{"a requeue after a retry", retried, requeued, with(requeued, 2)},
		{"into nothing", reconcile.Cause{}, retried, with(retried, 1)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.first.Merge(tc.later)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNoInfoOutsideAReconcile(t *testing.T) {
	if c := reconcile.CauseFrom(context.Background()); c != (reconcile.Cause{}) {
		t.Errorf("CauseFrom = %+v", c)
	}
	if reconcile.Logger(context.Background()).Enabled(context.Background(), slog.LevelError) {
		t.Error("Logger keeps what nobody asked for")
	}
}

func ExampleCauseFrom() {
	ctx := reconcile.WithCause(context.Background(), reconcile.Cause{
		Trigger: reconcile.Updated, Key: object.Key{Namespace: "web", Name: "shop"}, ResourceVersion: "42", Count: 3,
	})
	r := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		c := reconcile.CauseFrom(ctx)
		fmt.Printf("%s: %s %s at %s, %d triggers\n", req, c.Key, c.Trigger, c.ResourceVersion, c.Count)
		return reconcile.Result{}, nil
	}
	r(ctx, reconcile.Request{Namespace: "web", Name: "shop"})
	// Output: web/shop: web/shop updated at 42, 3 triggers
}

func ExampleLogger() {
	plain := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	ctx := reconcile.WithLogger(context.Background(), plain.With("controller", "podscaler"))
	reconcile.Logger(ctx).Info("scaled", "replicas", 10)
	// Output: level=INFO msg=scaled controller=podscaler replicas=10
}
