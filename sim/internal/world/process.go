package world

import (
	"context"
	"fmt"
	"slices"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/backoff"
	"github.com/flyball-io/flyball/internal/ctxkey"
)

// maxStarts bounds how often a program that ends by itself is started again.
const maxStarts = 12

// grace is how long a program may run after the end of its context.
const grace = 2 * time.Minute

// process is a program and its present run. Only the goroutine of the world uses it, but for the transport.
type process struct {
	w       *world
	program Program
	starts  int
	// now is the present run; nil while the program waits to be started again.
	now  *incarnation
	done chan error // of the present run; nil if it has ended
	// stale is what its watches, and the lists with which they begin, show instead of the present state; nil: that.
	stale *staleView
	// lastFirst says that its queues hand out first what became ready last.
	lastFirst bool
	// away is until when the server cannot be reached.
	away time.Time
	// again is the step at whose end a plan starts it anew, on the view behind; zero: none does.
	again  int
	behind *staleView
}

// staleView is a view of the past, for all kinds or for one.
type staleView struct {
	view core.View
	kind string // "resource.group"; "" for all
}

func (s *staleView) of(resource string, now core.View) core.View {
	if s == nil || s.kind != "" && s.kind != resource {
		return now
	}
	return s.view
}

// String names the program for people.
func (p *process) String() string {
	if p.program.Name == "" {
		return "the program"
	}
	return p.program.Name
}

// faultless reports whether no fault of the plan has been met.
func (p *process) faultless() bool {
	return !slices.Contains(p.w.out.Met, true)
}

// start starts the program.
func (p *process) start() {
	p.starts++
	ctx, cancel := context.WithCancelCause(context.Background())
	i := &incarnation{process: p, ctx: ctx, cancel: cancel, n: p.starts, uids: map[string]map[string]bool{}, claimed: map[string]bool{}, silent: map[string]time.Time{}}
	p.now = i
	done := make(chan error, 1)
	p.done = done
	p.w.log(laneProgram, "%s starts", p)
	inside := ctxkey.WithReconciles(ctxkey.WithCaches(ctxkey.WithTurns(ctx, i.turn), i.show), i.reconciles)
	cfg := &rest.Config{Host: Host, Transport: i, QPS: -1}
	go func() {
		var err error
		defer func() {
			if r := recover(); r != nil {
				err = &PanicError{Program: p.String(), Value: r, Stack: stack()}
			}
			done <- err
		}()
		err = p.program.Run(inside, cfg)
	}()
}

// later starts the program again after a while, as the kubelet does with one that has ended.
func (p *process) later() {
	p.stop()
	p.w.at(backoff.Policy{Base: 2 * time.Second, Max: time.Minute}.Delay(p.starts, 0), func() {
		if p.done == nil {
			p.start()
		}
	})
}

// stop makes the present run dead: nothing that it sends arrives, and nothing arrives at it.
func (p *process) stop() {
	if i := p.now; i != nil {
		p.now = nil
		i.die()
	}
}

// kill ends the program at once, and waits for its goroutine. The error says that it does not end.
func (p *process) kill() error {
	p.stop()
	if p.done == nil {
		return nil
	}
	done := p.done
	p.done = nil
	select {
	case <-done:
		return nil
	case <-time.After(grace):
		return fmt.Errorf("%s ignores the end of its context: it still runs %v later, at\n%s", p, grace, waiting())
	}
}

// restart ends the program at once, and starts it again.
func (p *process) restart() {
	if err := p.kill(); err != nil && p.w.out.Err == nil {
		p.w.out.Err = err
		return
	}
	synctest.Wait()
	p.start()
}

// PanicError says that a program has panicked in the goroutine in which it was called.
type PanicError struct {
	Program string
	Value   any
	Stack   string
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("%s panicked: %v\n%s", e.Program, e.Value, e.Stack)
}
