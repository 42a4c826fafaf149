package flyball

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/flyball-io/flyball/run"
)

// life starts and stops what was added to it, phase by phase.
type life struct {
	logger *slog.Logger
	// settled is called when the members of a phase have been started, and holds up the next
	// phase until it returns. ctx ends when the phases are to stop. Nil: nothing is waited for.
	settled func(ctx context.Context, p Phase)

	mu      sync.Mutex
	running bool
	fail    context.CancelCauseFunc // stops the run, while there is one
	stages  [phaseCount]*run.Group  // those that have started and have not been told to stop
	members map[string]*member
	order   []*member // as added
}

// run works until ctx ends or a member fails, and returns why, joined with what went wrong while
// the phases stopped; nil for an end in good order.
func (l *life) run(ctx context.Context) error {
	stop, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	l.mu.Lock()
	l.fail = fail
	l.mu.Unlock()
	var groups []*run.Group
	for p := Serve; p < phaseCount && !done(stop); p++ {
		group, _ := run.New(context.WithoutCancel(ctx))
		groups = append(groups, group)
		l.start(p, group)
		if l.settled != nil {
			l.settled(stop, p)
		}
	}
	<-stop.Done()
	cause := context.Cause(stop)
	l.logger.Info("manager stops", "cause", cause)
	for i := len(groups) - 1; i >= 0; i-- {
		l.end(Phase(i), groups[i], cause)
	}
	return l.result(cause)
}

// begin makes sure that there is one run at a time.
func (l *life) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running {
		return false
	}
	l.running = true
	for _, b := range l.order {
		b.err = nil
	}
	return true
}

func (l *life) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = false
}

// start runs the members of a phase, and from now on those that are added to it.
func (l *life) start(p Phase, group *run.Group) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stages[p] = group
	for _, b := range l.order {
		if b.phase == p {
			b.startLocked(group)
		}
	}
}

// end stops a phase and returns when all of it has ended.
func (l *life) end(p Phase, group *run.Group, cause error) {
	l.mu.Lock()
	l.stages[p] = nil
	l.mu.Unlock()
	group.Stop(cause)
	group.Wait()
}

// result is the error of a run that ended for cause.
func (l *life) result(cause error) error {
	var errs []error
	if err := inOrder(cause); err != nil {
		errs = append(errs, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.order {
		if b.err != nil && b.err != cause {
			errs = append(errs, b.err)
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// inOrder is nil for the causes of an end in good order: a plain cancel, or a signal.
func inOrder(cause error) error {
	if _, ok := errors.AsType[*SignalError](cause); ok || cause == context.Canceled {
		return nil
	}
	return cause
}

func done(ctx context.Context) bool { return ctx.Err() != nil }
