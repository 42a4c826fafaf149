package handlers

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// problems collects what is reported.
type problems struct {
	mu  sync.Mutex
	all []informer.Problem
}

func (p *problems) add(problem informer.Problem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, problem)
}

// running runs a registration until the end of the test. It returns what pushes changes, and what waits for the
// end of Run.
func running(t *testing.T, h toolscache.ResourceEventHandler, o Options) (r *Registration, push func(...store.Change), wait func()) {
	t.Helper()
	if o.Backlog == 0 {
		o.Backlog = 100
	}
	r = New(h, o)
	decodes := 0
	d := decoding(&decodes)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Minute, errors.New("the test hangs"))
	done := make(chan struct{})
	var err error
	go func() {
		defer close(done)
		err = r.Run(ctx)
	}()
	wait = func() {
		<-done
		cancel()
		if err != nil || ctx.Err() != context.Canceled {
			t.Errorf("Run ended with %v, the context with %v", err, context.Cause(ctx))
		}
	}
	return r, func(all ...store.Change) {
		for _, c := range all {
			r.push(newEvent(d, c))
		}
	}, wait
}

// An event may cause several calls. None begins after one of them has removed the handler.
func TestRemovedWithinAnEvent(t *testing.T) {
	var r *Registration
	h := &told{}
	ready := make(chan struct{})
	r, push, wait := running(t, toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { h.OnAdd(o, false) },
		DeleteFunc: func(o any) {
			<-ready
			h.OnDelete(o)
			r.Remove()
		},
	}, Options{})
	close(ready)
	push(change("u1@1", "u2@2", "")) // u1 is deleted, u2 is added
	wait()
	if got := strings.Join(h.lines, ", "); got != "tombstone u1@1" {
		t.Errorf("told %s", got)
	}
}

// toolscache.ShutDownEventHandler waits for a running call, and for none if the handler never ran.
func TestShutdownChan(t *testing.T) {
	idle := New(&told{}, Options{})
	idle.Remove()
	<-idle.ShutdownChan()
	if err := idle.Run(t.Context()); err != nil {
		t.Error(err)
	}

	began, release := make(chan struct{}), make(chan struct{})
	r, push, wait := running(t, toolscache.ResourceEventHandlerFuncs{AddFunc: func(any) {
		close(began)
		<-release
	}}, Options{})
	push(change("", "u1@1", ""))
	<-began
	r.Remove()
	select {
	case <-r.ShutdownChan():
		t.Error("shut down while a call runs")
	default:
	}
	close(release)
	wait()
	<-r.ShutdownChan()
}

// A call that ends its goroutine is reported. The other calls of its event, and the next events, follow.
func TestHandlerThatEndsItsGoroutine(t *testing.T) {
	var r *Registration
	h, p := &told{}, &problems{}
	ready := make(chan struct{})
	r, push, wait := running(t, toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { h.OnAdd(o, false) },
		UpdateFunc: func(old, new any) {
			<-ready
			h.OnUpdate(old, new)
			r.Remove()
		},
		DeleteFunc: func(o any) {
			h.OnDelete(o)
			runtime.Goexit()
		},
	}, Options{Name: "h", OnProblem: p.add, Logger: slog.New(slog.DiscardHandler)})
	close(ready)
	push(change("u1@1", "u2@2", ""), change("u2@2", "u2@3", ""))
	wait()
	if got := strings.Join(h.lines, ", "); got != "tombstone u1@1, add u2@2, update u2@2 u2@3" {
		t.Errorf("told %s", got)
	}
	if len(p.all) != 1 || !errors.Is(p.all[0].Err, run.ErrGoexit) || p.all[0].Handler != "h" || p.all[0].Key.Name != "a" {
		t.Errorf("problems %v", p.all)
	}
}

// Each panic is reported to the program, and a few are logged. A panic of the report ends nothing.
func TestPanicsAreLoggedAFewTimes(t *testing.T) {
	const panics = 100
	var log bytes.Buffer
	p := &problems{}
	var r *Registration
	ready := make(chan struct{})
	r, push, wait := running(t, toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, _ any) { panic("no") },
		DeleteFunc: func(any) { <-ready; r.Remove() },
	}, Options{Name: "h", Backlog: 2 * panics, Logger: slog.New(slog.NewTextHandler(&log, nil)), OnProblem: func(problem informer.Problem) {
		p.add(problem)
		panic("neither")
	}})
	close(ready)
	for range panics {
		push(change("u1@1", "u1@2", ""))
	}
	push(change("u1@2", "", "u1@3"))
	wait()
	if n := strings.Count(log.String(), "handler panicked"); n != 5 || len(p.all) != panics {
		t.Errorf("%d lines, %d problems", n, len(p.all))
	}
	if !strings.Contains(log.String(), "registration_test.go") {
		t.Error("the log has no stack")
	}
}

// What cannot be decoded is forgotten with its key, also if its end was not seen.
func TestUndecodableIsForgotten(t *testing.T) {
	for _, c := range []store.Change{
		with(change("", "", "u1@2!"), missed),
		change("", "", "u1@2!"),
		with(change("u1@1", "", "u2@2!"), missed),
	} {
		decodes := 0
		h := (&told{}).calls()
		h.deliver(newEvent(decoding(&decodes), c))
		if len(h.unusable) != 0 {
			t.Errorf("%d keys are kept", len(h.unusable))
		}
	}
}
