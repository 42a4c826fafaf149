package main

import (
	"context"
	"errors"
	"fmt"
)

// group owns the components. They are stopped in the reverse order of their
// start, each when the ones after it have ended.
type group struct {
	fail    context.CancelCauseFunc
	closers []func()
}

// component runs until its context ends.
type component func(ctx context.Context) error

// newGroup returns a group that calls fail when a component ends unasked.
func newGroup(fail context.CancelCauseFunc) *group { return &group{fail: fail} }

// start runs a component. Its context is its own, not the caller's: a
// component must outlive those that were started after it.
func (g *group) start(name string, run component) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := run(ctx)
		if ctx.Err() == nil {
			if err == nil {
				err = errors.New("ended")
			}
			g.fail(fmt.Errorf("%s: %w", name, err))
		}
	}()
	g.addCloser(func() { cancel(); <-done })
}

// addCloser has stop call f before what was added earlier.
func (g *group) addCloser(f func()) { g.closers = append(g.closers, f) }

// stop ends the components and waits for each.
func (g *group) stop() {
	for i := len(g.closers) - 1; i >= 0; i-- {
		g.closers[i]()
	}
}
