package run_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/run"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var errBoom = errors.New("boom")

func untilEnd(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestWaitReturnsTheCause(t *testing.T) {
	stopped := errors.New("stopped on purpose")
	for _, tc := range []struct {
		name string
		do   func(g *run.Group, cancel context.CancelCauseFunc)
		want error
		text string
	}{
		{"nothing started", func(*run.Group, context.CancelCauseFunc) {}, nil, ""},
		{"all finished", func(g *run.Group, _ context.CancelCauseFunc) {
			g.Go("a", func(context.Context) error { return nil })
			g.Go("b", func(context.Context) error { return nil })
		}, nil, ""},
		{"one failed, the others are stopped", func(g *run.Group, _ context.CancelCauseFunc) {
			g.Go("good", untilEnd)
			g.Go("bad", func(context.Context) error { return errBoom })
		}, errBoom, "bad: boom"},
		{"no name, no prefix", func(g *run.Group, _ context.CancelCauseFunc) {
			g.Go("", func(context.Context) error { return errBoom })
		}, errBoom, "boom"},
		{"a panic", func(g *run.Group, _ context.CancelCauseFunc) {
			g.Go("good", untilEnd)
			g.Go("bad", func(context.Context) error { panic(errBoom) })
		}, errBoom, "bad: panic: boom"},
		{"goexit", func(g *run.Group, _ context.CancelCauseFunc) {
			g.Go("good", untilEnd)
			g.Go("gone", func(context.Context) error { runtime.Goexit(); return nil })
		}, run.ErrGoexit, "gone: goroutine left by runtime.Goexit"},
		{"stop", func(g *run.Group, _ context.CancelCauseFunc) {
			g.Go("a", untilEnd)
			g.Stop(stopped)
			g.Stop(errBoom)
		}, stopped, ""},
		{"stop without cause", func(g *run.Group, _ context.CancelCauseFunc) { g.Stop(nil) }, context.Canceled, ""},
		{"parent ended", func(g *run.Group, cancel context.CancelCauseFunc) {
			g.Go("a", untilEnd)
			cancel(stopped)
		}, stopped, ""},
		{"parent ended, functions return nil", func(g *run.Group, cancel context.CancelCauseFunc) {
			g.Go("a", func(ctx context.Context) error { <-ctx.Done(); return nil })
			cancel(stopped)
		}, stopped, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			parent, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			g, ctx := run.New(parent)
			tc.do(g, cancel)
			err := g.Wait()
			if !errors.Is(err, tc.want) || (tc.want == nil) != (err == nil) {
				t.Errorf("Wait = %v, want %v", err, tc.want)
			}
			if tc.text != "" && err.Error() != tc.text {
				t.Errorf("Wait = %q, want %q", err, tc.text)
			}
			if again := g.Wait(); again != err {
				t.Errorf("second Wait = %v, want %v", again, err)
			}
			if ctx.Err() == nil {
				t.Error("the context outlives Wait")
			}
		})
	}
}

func TestWaitCoversGoroutinesStartedWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := run.New(t.Context())
		release, waited := make(chan struct{}), make(chan struct{})
		g.Go("outer", func(context.Context) error {
			g.Go("inner", func(context.Context) error { <-release; return nil })
			return nil
		})
		go func() { _ = g.Wait(); close(waited) }()
		synctest.Wait()
		select {
		case <-waited:
			t.Fatal("Wait returned while the inner goroutine ran")
		default:
		}
		close(release)
		<-waited
		if g.Go("late", func(context.Context) error { t.Error("ran after Wait"); return nil }) {
			t.Error("Go after Wait reported true")
		}
	})
}

func TestGoAfterStopRunsUnderTheEndedContext(t *testing.T) {
	g, _ := run.New(t.Context())
	g.Stop(errBoom)
	var saw error
	g.Go("late", func(ctx context.Context) error { saw = context.Cause(ctx); return nil })
	if err := g.Wait(); !errors.Is(err, errBoom) || !errors.Is(saw, errBoom) {
		t.Errorf("Wait = %v, the function saw %v", err, saw)
	}
}

func TestGoAndWaitMayRace(t *testing.T) {
	g, _ := run.New(t.Context())
	var callers sync.WaitGroup
	var mu sync.Mutex
	started, ran := 0, 0
	for range 8 {
		callers.Go(func() {
			for range 200 {
				ok := g.Go("n", func(context.Context) error { mu.Lock(); ran++; mu.Unlock(); return nil })
				if ok {
					mu.Lock()
					started++
					mu.Unlock()
				}
			}
			_ = g.Wait()
		})
	}
	callers.Wait()
	if ran != started {
		t.Errorf("%d started, %d ran", started, ran)
	}
}

func TestSafelyTurnsPanicsIntoErrors(t *testing.T) {
	if err := run.Safely("x", func() error { return nil }); err != nil {
		t.Errorf("nil became %v", err)
	}
	if err := run.Safely("x", func() error { return errBoom }); err != errBoom {
		t.Errorf("an error became %v", err)
	}
	for _, v := range []any{"text", errBoom, 7, nil} {
		err := run.Safely("decode pod", func() error { panic(v) })
		var p *run.PanicError
		if !errors.As(err, &p) {
			t.Fatalf("panic(%v) became %v", v, err)
		}
		if v != nil && p.Value != v {
			t.Errorf("Value = %v, want %v", p.Value, v)
		}
		if p.Name != "decode pod" || !strings.Contains(string(p.Stack), "TestSafely") {
			t.Errorf("Name %q, stack of another place:\n%s", p.Name, p.Stack)
		}
	}
	if err := run.Safely("", func() error { panic("text") }); err.Error() != "panic: text" {
		t.Errorf("without a name: %q", err)
	}
}

func ExampleGroup() {
	g, _ := run.New(context.Background())
	g.Go("watch pods", func(ctx context.Context) error {
		<-ctx.Done() // ends through the failure below
		return nil
	})
	g.Go("watch nodes", func(context.Context) error {
		return errors.New("forbidden")
	})
	fmt.Println(g.Wait())
	// Output: watch nodes: forbidden
}

func ExampleSafely() {
	err := run.Safely("predicate", func() error {
		var pods []string
		_ = pods[len(pods)]
		return nil
	})
	fmt.Println(err)
	// Output: predicate: panic: runtime error: index out of range [0] with length 0
}
