package life

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

// Life starts and stops its members, phase by phase. The hooks are set before the first run; a nil one is
// skipped.
type Life struct {
	Logger *slog.Logger
	// Settled is called when the members of a phase have been started. The next phase starts when it
	// returns. ctx ends when the phases are to stop.
	Settled func(ctx context.Context, p Phase)
	// Elect waits until this process leads, runs lead, and returns after it; see leader.Elector.
	// Nil: it always leads.
	Elect func(ctx context.Context, lead func(context.Context) error) error
	// Drained is called with the time of the stop when Lead and Always have ended. The caches and servers
	// end when it returns.
	Drained func(stopped time.Time)
	// Changed is called when a phase has started, when the phases are told to stop, and after a run.
	Changed func()
	// Aborted adds to ctx what ends when the lease is lost.
	Aborted func(ctx, abort context.Context) context.Context
	// Bounds are how long each phase may take to stop. Zero: for ever.
	Bounds [Phases]time.Duration
	// Late makes the error for a phase whose bound has passed. names are its members that have not ended, and
	// the election.
	Late func(p Phase, after time.Duration, names []string) error
	// InOrder reports whether a cause is one of an end in good order.
	InOrder func(cause error) bool

	mu      sync.Mutex
	running bool
	at      Phase                   // the last phase that was started; Phases: all have been
	stopped time.Time               // when the phases were told to stop; zero: they were not
	fail    context.CancelCauseFunc // stops the present run
	term    *campaign               // of the present run, or of the last one
	groups  [Phases]*run.Group      // of the phases that have started and were not told to stop
	members map[string]*member
	order   []*member // in the order in which they were added
}

// Run works until ctx ends or a member fails. It returns the cause, joined with what failed while the
// phases stopped; nil for an end in good order.
func (l *Life) Run(ctx context.Context) error {
	stop, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	l.mu.Lock()
	l.fail = fail
	l.mu.Unlock()
	var groups []*run.Group
	for p := Serve; p < Phases && stop.Err() == nil; p++ {
		l.change(func() { l.at = p })
		if p == Lead && l.Elect != nil {
			l.campaign(ctx, fail)
			groups = append(groups, nil)
		} else {
			group, _ := run.New(context.WithoutCancel(ctx))
			groups = append(groups, group)
			l.start(p, group)
		}
		if l.Settled != nil {
			l.Settled(stop, p)
		}
	}
	l.change(func() { l.at = Phases })
	<-stop.Done()
	cause := context.Cause(stop)
	stopped := time.Now()
	l.change(func() { l.stopped = stopped })
	l.Logger.Info("manager stops", "cause", cause)
	var late []error
	for i := len(groups) - 1; i >= 0; i-- {
		if i == min(int(Sync), len(groups)-1) && l.Drained != nil {
			l.Drained(stopped)
		}
		if err := l.end(Phase(i), groups[i], cause); err != nil {
			l.Logger.Error("not everything has ended, going on", "err", err)
			late = append(late, err)
		}
	}
	l.Logger.Info("manager has stopped", "took", time.Since(stopped))
	return l.result(cause, late)
}

// Begin refuses a second run beside the first, and a run while members or the election of the last one have not
// ended.
func (l *Life) Begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running {
		return fmt.Errorf("manager: %w", run.ErrRunning)
	}
	var names []string
	for p := range Phase(Phases) {
		names = append(names, l.unendedLocked(p)...)
	}
	if len(names) > 0 {
		return fmt.Errorf("manager: %w: not ended since the last time: %s", run.ErrRunning, strings.Join(names, ", "))
	}
	l.running, l.stopped, l.term = true, time.Time{}, nil
	for _, b := range l.order {
		b.err = nil
	}
	return nil
}

// Finish ends what Begin began.
func (l *Life) Finish() {
	l.change(func() { l.running, l.stopped = false, time.Time{} })
}

// change changes what Ready and Stopping say, and calls Changed.
func (l *Life) change(how func()) {
	l.mu.Lock()
	how()
	l.mu.Unlock()
	if l.Changed != nil {
		l.Changed()
	}
}

// Ready is nil when every phase has started, and none was told to stop.
func (l *Life) Ready() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.running:
		return errors.New("does not run")
	case !l.stopped.IsZero():
		return errors.New("stops")
	case l.at < Phases:
		return fmt.Errorf("starts: in phase %s", l.at)
	}
	return nil
}

// Stopping is the time since the phases were told to stop; zero if they were not.
func (l *Life) Stopping() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped.IsZero() {
		return 0
	}
	return time.Since(l.stopped)
}

// start runs the members of a phase. Members that are added to it later start at once, until shut.
func (l *Life) start(p Phase, group *run.Group) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.groups[p] = group
	for _, b := range l.order {
		if b.phase == p {
			b.startLocked(group)
		}
	}
}

// shut ends the start of further members in a phase.
func (l *Life) shut(p Phase) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.groups[p] = nil
}

// end stops a phase and waits until its members have ended. It returns an error when its bound passes
// first. A nil group stands for the phase of the campaign.
func (l *Life) end(p Phase, group *run.Group, cause error) error {
	l.mu.Lock()
	l.groups[p] = nil
	var waits []<-chan struct{}
	for _, b := range l.order {
		if b.phase == p && !b.endedLocked() {
			waits = append(waits, b.ended)
		}
	}
	c := l.term
	l.mu.Unlock()
	if group != nil {
		group.Stop(cause)
	} else {
		c.stop(cause)
		waits = append(waits, c.ended) // after its members
	}
	if !await(waits, l.Bounds[p]) {
		l.mu.Lock()
		names := l.unendedLocked(p)
		l.mu.Unlock()
		if len(names) > 0 {
			return l.Late(p, l.Bounds[p], names)
		}
	}
	if group != nil {
		group.Wait()
	}
	return nil
}

// await reports whether all channels were closed within bound. Zero: it waits for ever.
func await(ends []<-chan struct{}, bound time.Duration) bool {
	var expired <-chan time.Time
	if bound > 0 {
		expired = time.After(bound)
	}
	for _, ended := range ends {
		select {
		case <-ended:
		case <-expired:
			return false
		}
	}
	return true
}

// unendedLocked names the members of a phase that have not ended, and after those of Lead the election: it holds
// the lease until all of them have ended.
func (l *Life) unendedLocked(p Phase) (names []string) {
	for _, b := range l.order {
		if b.phase == p && !b.endedLocked() {
			names = append(names, b.describe())
		}
	}
	if p == Lead && l.term != nil && !isClosed(l.term.ended) {
		names = append(names, campaigning)
	}
	return names
}

// result is the error of a run that ended for cause.
func (l *Life) result(cause error, late []error) error {
	var errs []error
	add := func(err error) {
		if err != nil && err != cause {
			errs = append(errs, err)
		}
	}
	if !l.InOrder(cause) {
		errs = append(errs, cause)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.term != nil && isClosed(l.term.ended) {
		add(l.term.result)
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

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
