package life

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/run"
)

// member is a function that was added to a life.
type member struct {
	life  *Life
	name  string
	phase Phase
	run   func(context.Context) error
	doing func() string // what it does at present, for errors; nil, and empty: nothing to add

	// The lock of life guards these.
	closed bool
	cancel context.CancelCauseFunc // nil while it does not run
	ended  chan struct{}           // closed when the last start has ended; nil before the first
	err    error                   // of the last run
}

// Add runs a function whenever its phase runs; at once, if the phase runs already. The error is [ErrTaken], or an
// *option.Error. Closing the result stops the function and waits until it has returned.
func (l *Life) Add(p Phase, name string, run func(context.Context) error) (io.Closer, error) {
	return l.AddDoing(p, name, run, nil)
}

// AddDoing is Add for a function that can tell what it does.
func (l *Life) AddDoing(p Phase, name string, run func(context.Context) error, doing func() string) (io.Closer, error) {
	switch {
	case name == "":
		return nil, BadAdd("name", "is empty")
	case run == nil:
		return nil, BadAdd("run", "is nil")
	case p < 0 || p >= Phases:
		return nil, BadAdd("phase", fmt.Sprintf("there is no %s", p))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.members[name] != nil {
		return nil, ErrTaken
	}
	b := &member{life: l, name: name, phase: p, run: run, doing: doing}
	if l.members == nil {
		l.members = map[string]*member{}
	}
	l.members[name] = b
	l.order = append(l.order, b)
	if group := l.groups[p]; group != nil {
		b.startLocked(group)
	}
	return b, nil
}

// BadAdd is the error for an argument of flyball.Manager.Add.
func BadAdd(field, text string) error {
	return &option.Error{Of: "flyball.Manager.Add", Field: field, Err: errors.New(text)}
}

// startLocked runs the member on a goroutine of group.
func (b *member) startLocked(group *run.Group) {
	ended := make(chan struct{})
	b.ended = ended
	group.Go("", func(ctx context.Context) error {
		defer close(ended)
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		if b.begin(cancel) {
			b.end(ctx, run.Safely("", func() error { return b.run(ctx) }))
		}
		return nil
	})
}

// describe is the name, and what it does.
func (b *member) describe() string {
	if b.doing != nil {
		if what := b.doing(); what != "" {
			return b.name + " (" + what + ")"
		}
	}
	return b.name
}

// endedLocked reports whether the member does not run.
func (b *member) endedLocked() bool { return b.ended == nil || isClosed(b.ended) }

// begin reports false for a member that was closed before its goroutine ran.
func (b *member) begin(cancel context.CancelCauseFunc) bool {
	b.life.mu.Lock()
	defer b.life.mu.Unlock()
	b.cancel = cancel
	return !b.closed
}

// end records the error of a run. An error stops the manager, unless the member was told to stop before.
// The cause of ctx is no error.
func (b *member) end(ctx context.Context, err error) {
	b.life.mu.Lock()
	defer b.life.mu.Unlock()
	b.cancel = nil
	stopped := ctx.Err() != nil
	if err == nil || stopped && (errors.Is(err, context.Cause(ctx)) || errors.Is(err, ctx.Err())) {
		return
	}
	b.err = fmt.Errorf("%s: %w", b.name, err)
	if !stopped {
		b.life.fail(b.err)
	}
}

// Close implements io.Closer.
func (b *member) Close() error {
	l := b.life
	l.mu.Lock()
	if !b.closed {
		b.closed = true
		delete(l.members, b.name)
		if b.cancel != nil {
			b.cancel(ErrClosed)
		}
	}
	ended := b.ended
	l.mu.Unlock()
	if ended != nil {
		<-ended
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.order = slices.DeleteFunc(l.order, func(o *member) bool { return o == b })
	return b.err
}
