package flyball

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/flyball-io/flyball/run"
)

// life starts and stops what was added to it, phase by phase.
type life struct {
	logger *slog.Logger
	// settled is called when the members of a phase have been started, and holds up the next
	// phase until it returns. ctx ends when the phases are to stop. Nil: nothing is waited for.
	settled func(ctx context.Context, p Phase)
	// elect waits until this process leads, runs lead, and returns after it; see leader.Elector.
	// Nil: it always leads.
	elect func(ctx context.Context, lead func(context.Context) error) error
	// drained is called with the time of the stop when all but the caches and servers has ended, and
	// holds up their end until it returns. Nil: nothing does.
	drained func(stopped time.Time)
	// changed is called when a phase has started, and when they are told to stop. Nil: nobody is told.
	changed func()
	// bounds are how long each phase may take to stop. Zero: as long as it takes.
	bounds [phaseCount]time.Duration

	mu      sync.Mutex
	running bool
	at      Phase                   // the last that was started; phaseCount: all have been
	stopped time.Time               // when the phases were told to stop; zero: they were not
	fail    context.CancelCauseFunc // stops the run, while there is one
	now     *campaign               // of the run, or of the last one
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
		l.reached(p)
		if p == Lead && l.elect != nil {
			l.campaign(ctx, fail)
			groups = append(groups, nil)
		} else {
			group, _ := run.New(context.WithoutCancel(ctx))
			groups = append(groups, group)
			l.start(p, group)
		}
		if l.settled != nil {
			l.settled(stop, p)
		}
	}
	l.reached(phaseCount)
	<-stop.Done()
	cause := context.Cause(stop)
	stopped := time.Now()
	l.told(stopped)
	l.logger.Info("manager stops", "cause", cause)
	var late []error
	for i := len(groups) - 1; i >= 0; i-- {
		if i == min(int(Sync), len(groups)-1) && l.drained != nil {
			l.drained(stopped)
		}
		if err := l.end(Phase(i), groups[i], cause); err != nil {
			l.logger.Error("not everything has ended, going on", "err", err)
			late = append(late, err)
		}
	}
	return l.result(cause, late)
}

// begin makes sure that there is one run at a time, and that nothing is left of the last one.
func (l *life) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running {
		return fmt.Errorf("manager: %w", run.ErrRunning)
	}
	var left []string
	for p := range Phase(phaseCount) {
		left = append(left, l.leftLocked(p)...)
	}
	if len(left) > 0 {
		return fmt.Errorf("manager: %w: not ended since the last time: %s", run.ErrRunning, strings.Join(left, ", "))
	}
	l.running, l.stopped, l.now = true, time.Time{}, nil
	for _, b := range l.order {
		b.err = nil
	}
	return nil
}

func (l *life) finish() {
	l.mu.Lock()
	l.running, l.stopped = false, time.Time{}
	l.mu.Unlock()
	l.tell()
}

func (l *life) reached(p Phase) {
	l.mu.Lock()
	l.at = p
	l.mu.Unlock()
	l.tell()
}

// told notes that the phases are told to stop.
func (l *life) told(stopped time.Time) {
	l.mu.Lock()
	l.stopped = stopped
	l.mu.Unlock()
	l.tell()
}

func (l *life) tell() {
	if l.changed != nil {
		l.changed()
	}
}

// ready is nil when every phase has started, and none was told to stop.
func (l *life) ready() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.running:
		return errors.New("does not run")
	case !l.stopped.IsZero():
		return errors.New("stops")
	case l.at < phaseCount:
		return fmt.Errorf("starts: in phase %s", l.at)
	}
	return nil
}

// stopping is for how long the phases have been told to stop; zero: they have not.
func (l *life) stopping() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped.IsZero() {
		return 0
	}
	return time.Since(l.stopped)
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

// shut starts nothing more in a phase.
func (l *life) shut(p Phase) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stages[p] = nil
}

// end stops a phase, and returns when all of it has ended, or with an error when the time for that
// is over. A phase without a group is that of the campaign.
func (l *life) end(p Phase, group *run.Group, cause error) error {
	l.shut(p)
	l.mu.Lock()
	var waits []<-chan struct{}
	for _, b := range l.order {
		if b.phase == p && !b.over() {
			waits = append(waits, b.ended)
		}
	}
	c := l.now
	l.mu.Unlock()
	if group != nil {
		group.Stop(cause)
	} else {
		c.stop(cause)
		waits = append(waits, c.ended) // which waits for its members, too
	}
	if !await(waits, l.bounds[p]) {
		if left := l.left(p); len(left) > 0 {
			return &StopTimeoutError{Phase: p, After: l.bounds[p], Names: left}
		}
	}
	if group != nil {
		group.Wait()
	}
	return nil
}

// await returns true when everything has ended, and false when the time for that is over. Zero:
// it never is.
func await(ends []<-chan struct{}, bound time.Duration) bool {
	var over <-chan time.Time
	if bound > 0 {
		t := time.NewTimer(bound)
		defer t.Stop()
		over = t.C
	}
	for _, ended := range ends {
		select {
		case <-ended:
		case <-over:
			return false
		}
	}
	return true
}

// left names what runs of a phase: the election only if nothing else does, for it waits for all.
func (l *life) left(p Phase) (names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leftLocked(p)
}

func (l *life) leftLocked(p Phase) (names []string) {
	for _, b := range l.order {
		if b.phase == p && !b.over() {
			names = append(names, b.name)
		}
	}
	if p == Lead && len(names) == 0 && l.now != nil && !isClosed(l.now.ended) {
		names = append(names, campaigning)
	}
	return names
}

// result is the error of a run that ended for cause.
func (l *life) result(cause error, late []error) error {
	var errs []error
	add := func(err error) {
		if err != nil && err != cause {
			errs = append(errs, err)
		}
	}
	if err := inOrder(cause); err != nil {
		errs = append(errs, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now != nil && isClosed(l.now.ended) {
		add(l.now.result)
	}
	for _, b := range l.order {
		add(b.err)
	}
	for _, err := range late {
		add(err)
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

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
