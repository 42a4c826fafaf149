// Package run gives every goroutine an owner. A Group starts goroutines, turns their panics into
// errors, stops all of them when one fails, and waits until the last one has ended:
//
//	Go ──► goroutine ──► error, panic ──► cause ──► ctx of every goroutine ends ──► Wait
//
// [New] makes a group. [Group.Go] starts a function in it. [Group.Wait] returns the first error.
// [Safely] only turns a panic into an error, for code of users that runs on our goroutine:
// handlers, predicates, transforms, reconcilers. [Sleep] waits, at most until its ctx ends.
package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrGoexit is the cause when a function of a Group left by runtime.Goexit, as t.FailNow does.
var ErrGoexit = errors.New("goroutine left by runtime.Goexit")

// ErrRunning is the error of a Run that must not start: the component runs already, or it can run
// only once and has run. Every component of this module wraps ErrRunning with its own name.
var ErrRunning = errors.New("already running")

// Group owns goroutines. Make one with New; the zero value is not usable. Any goroutine may call
// its methods, including those of the group. But a goroutine that waits for its own group waits for
// ever.
type Group struct {
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	idle   sync.Cond // signalled when active becomes zero
	active int
	done   bool  // Wait has returned, or is about to
	err    error // result of Wait, once done
}

// New returns a group and the context of its goroutines. The context ends when parent does, when a
// function of the group fails, on Stop, and at the latest when Wait returns. Call Wait even if
// nothing was started: it releases the context.
func New(parent context.Context) (*Group, context.Context) {
	g := &Group{}
	g.idle.L = &g.mu
	g.ctx, g.cancel = context.WithCancelCause(parent)
	return g, g.ctx
}

// Go runs fn in a goroutine of the group, under the group's context, even if that has ended
// already. A nil error means that fn is finished; the other goroutines continue. Any other error, a
// panic (*PanicError) or a Goexit (ErrGoexit) stops the group. The error is prefixed with name,
// unless name is empty.
//
// Go reports false, and does not run fn, if Wait has returned.
func (g *Group) Go(name string, fn func(context.Context) error) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done {
		return false
	}
	g.active++
	go func() {
		err := subject(name, ErrGoexit)
		defer func() { g.ended(err) }()
		err = Safely(name, func() error { return fn(g.ctx) })
		if _, panicked := err.(*PanicError); !panicked {
			err = subject(name, err)
		}
	}()
	return true
}

// Stop ends the group's context with cause. nil means context.Canceled. It does not wait. The first
// cause stays: after a failure, another Stop or the end of the parent, Stop does nothing.
func (g *Group) Stop(cause error) { g.cancel(cause) }

// Wait returns when every goroutine of the group has ended, including those started while it waits.
// It returns the cause of the group's end: the first failure, the cause given to Stop, or the cause
// of the parent, whichever came first. It returns nil when every function returned nil and nothing
// stopped the group. Later calls return the same.
func (g *Group) Wait() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.active > 0 {
		g.idle.Wait()
	}
	if !g.done {
		g.done = true
		g.err = context.Cause(g.ctx)
		g.cancel(nil)
	}
	return g.err
}

func (g *Group) ended(err error) {
	if err != nil {
		g.cancel(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.active--; g.active == 0 {
		g.idle.Broadcast()
	}
}

func subject(name string, err error) error {
	if err == nil || name == "" {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}
