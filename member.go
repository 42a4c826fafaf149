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

// Phase is when something runs: phases start in this order and stop in reverse, each when the one
// before it has ended.
type Phase int

const (
	// Serve is for servers that others need first, such as webhooks and probes.
	Serve Phase = iota
	// Sync is for caches. That of the manager runs here.
	Sync
	// Lead is for what acts: controllers and other runners.
	Lead

	phaseCount = iota
)

func (p Phase) String() string {
	if p < 0 || p >= phaseCount {
		return fmt.Sprintf("phase %d", int(p))
	}
	return [...]string{"serve", "sync", "lead"}[p]
}

var (
	// ErrNilRunner says that Add was given nothing to run.
	ErrNilRunner = errors.New("runner is nil")
	// ErrNoName says that Add was given no name.
	ErrNoName = errors.New("name is empty")
	// ErrNoPhase says that AddTo was given a phase that there is not.
	ErrNoPhase = errors.New("no such phase")
	// ErrClosed is the cause with which something that was added is stopped by its Close.
	ErrClosed = errors.New("closed")
)

// DuplicateNameError says that something of this name is part of the manager already.
type DuplicateNameError struct{ Name string }

func (e *DuplicateNameError) Error() string {
	return fmt.Sprintf("the manager has something named %q already", e.Name)
}

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
