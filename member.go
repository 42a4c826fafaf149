package flyball

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/run"
)

// member is something that was added.
type member struct {
	life   *life
	name   string
	phase  Phase
	runner controller.Runner

	// These are under the lock of life.
	gone   bool
	cancel context.CancelCauseFunc // while it runs
	ended  chan struct{}           // closed when the last start has ended; nil before the first
	err    error                   // what went wrong in the last run
}

func (l *life) add(p Phase, name string, r controller.Runner) (io.Closer, error) {
	switch {
	case name == "":
		return nil, ErrNoName
	case r == nil:
		return nil, fmt.Errorf("%s: %w", name, ErrNilRunner)
	case p < 0 || p >= phaseCount:
		return nil, fmt.Errorf("%s: %w: %d", name, ErrNoPhase, int(p))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.members[name] != nil {
		return nil, &DuplicateNameError{name}
	}
	b := &member{life: l, name: name, phase: p, runner: r}
	if l.members == nil {
		l.members = map[string]*member{}
	}
	l.members[name] = b
	l.order = append(l.order, b)
	if group := l.stages[p]; group != nil {
		b.startLocked(group)
	}
	return b, nil
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
			b.end(ctx, run.Safely("", func() error { return b.runner.Run(ctx) }))
		}
		return nil
	})
}

// over reports whether nothing of the member runs.
func (b *member) over() bool { return b.ended == nil || isClosed(b.ended) }

func (b *member) begin(cancel context.CancelCauseFunc) bool {
	b.life.mu.Lock()
	defer b.life.mu.Unlock()
	b.cancel = cancel
	return !b.gone
}

// end says what becomes of the others when Run has returned err: an error ends them all, unless
// the member had been told to stop; then it is only kept.
func (b *member) end(ctx context.Context, err error) {
	b.life.mu.Lock()
	defer b.life.mu.Unlock()
	b.cancel = nil
	told := done(ctx)
	if err == nil || told && (errors.Is(err, context.Cause(ctx)) || errors.Is(err, ctx.Err())) {
		return
	}
	b.err = fmt.Errorf("%s: %w", b.name, err)
	if !told {
		b.life.fail(b.err)
	}
}

// Close implements io.Closer.
func (b *member) Close() error {
	l := b.life
	l.mu.Lock()
	if !b.gone {
		b.gone = true
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
